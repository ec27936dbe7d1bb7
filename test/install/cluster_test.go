// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
)

var scheme = runtime.NewScheme()

func init() {
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
}

// connect returns a configuration and a client with an administrator's rights for a cluster of the sandbox.
func connect(t *testing.T, box *sandbox.Sandbox, name string) (*rest.Config, client.Client) {
	t.Helper()
	cfg, err := box.RESTConfig(name)
	if err != nil {
		t.Fatal(err)
	}
	cfg.QPS = -1
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return cfg, c
}

// apply applies all objects of these folders of package config.
func apply(t *testing.T, c client.Client, folders ...config.Folder) {
	t.Helper()
	for _, folder := range folders {
		objects, err := config.Objects(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range objects {
			applyOne(t, c, obj)
		}
	}
}

func applyOne(t *testing.T, c client.Client, obj *unstructured.Unstructured, options ...client.ApplyOption) {
	t.Helper()
	options = append(options, client.FieldOwner("test-install"), client.ForceOwnership)
	if err := c.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj.DeepCopy()), options...); err != nil {
		t.Errorf("applying %s %s: %v", obj.GetKind(), obj.GetName(), err)
	}
}

func convert(obj *unstructured.Unstructured, into any) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, into)
}

func eventually(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, 2*time.Minute, true,
		func(ctx context.Context) (bool, error) { return is(ctx), nil })
	if err != nil {
		t.Fatalf("waited two minutes for: %s", what)
	}
}
