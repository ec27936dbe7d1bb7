// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
)

// InstallCRDs installs CRDs of Fairlead on a cluster, and waits until it serves their kinds. plurals are the names of the resources,
// for example federateds.
func InstallCRDs(ctx context.Context, cluster *rest.Config, plurals ...string) error {
	c, err := client.New(cluster, client.Options{})
	if err != nil {
		return err
	}
	var lists []*unstructured.UnstructuredList
	for _, plural := range plurals {
		crd, err := config.CustomResourceDefinition(plural + "." + v1alpha1.Group)
		if err != nil {
			return err
		}
		if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(crd), client.FieldOwner("test"), client.ForceOwnership); err != nil {
			return err
		}
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "listKind")
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
		lists = append(lists, list)
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		for _, list := range lists {
			if c.List(ctx, list) != nil {
				return false, nil
			}
		}
		return true, nil
	})
}
