// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/member"
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// widen lets a collector outside the host read the kinds that CRDs bring to its member, until ctx ends, so that a kind
// which nobody prepared for is observed as soon as it is pushed. It holds the names of CRDs and no more.
func widen(ctx context.Context, conn *member.Conn) error {
	client, err := metadata.NewForConfigAndClient(metadata.ConfigFor(conn.GetConfig()), conn.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("making the client for CRDs: %w", err)
	}
	groups := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[string](time.Second, time.Minute))
	context.AfterFunc(ctx, groups.ShutDown)
	names := metadatainformer.NewFilteredMetadataInformer(client, crds, metav1.NamespaceAll, 0, cache.Indexers{}, nil).Informer()
	if err := names.SetTransform(onlyName); err != nil {
		return fmt.Errorf("watching CRDs: %w", err)
	}
	if _, err := names.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) {
		if crd, ok := obj.(*metav1.PartialObjectMetadata); ok {
			_, group, _ := strings.Cut(crd.Name, ".") // PLURAL.GROUP, as the API server has it
			groups.Add(group)
		}
	}}); err != nil {
		return fmt.Errorf("watching CRDs: %w", err)
	}
	go names.RunWithContext(ctx)

	api, readable := conn.GetClient(), map[string]bool{}
	for {
		group, shut := groups.Get()
		if shut {
			return nil
		}
		if !readable[group] {
			err := join.LetRead(ctx, api, group)
			readable[group] = err == nil
			if err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Info("the collector may not read a group yet, trying again", "group", group, "error", err.Error())
				groups.AddRateLimited(group)
			}
		}
		groups.Done(group)
	}
}

// onlyName drops all else of an object: a member may have thousands of CRDs.
func onlyName(obj any) (any, error) {
	if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return &metav1.PartialObjectMetadata{TypeMeta: o.TypeMeta,
			ObjectMeta: metav1.ObjectMeta{Name: o.Name, ResourceVersion: o.ResourceVersion}}, nil
	}
	return obj, nil
}
