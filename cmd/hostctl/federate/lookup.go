// SPDX-License-Identifier: Apache-2.0

package federate

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-dev/fairlead/federate/author"
)

// hostFlags name the host from which federate may read. Without them federate reads from no host: its output must not depend on which
// context of a kubeconfig is the current one.
type hostFlags struct {
	kubeconfig, context string
}

// lookup returns a function that asks the host whether a kind is namespaced. It returns nil if the flags name no host.
func (h hostFlags) lookup() func(schema.GroupVersionKind) (author.Scope, error) {
	if h.kubeconfig == "" && h.context == "" {
		return nil
	}
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.Context = &h.kubeconfig, &h.context
	return func(gvk schema.GroupVersionKind) (author.Scope, error) {
		mapper, err := flags.ToRESTMapper()
		if err != nil {
			return "", err
		}
		mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		if err != nil {
			return "", err
		}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			return author.Namespaced, nil
		}
		return author.ClusterScoped, nil
	}
}

// hasNamespace returns a function that asks the host whether a namespace exists. It returns nil if the flags name no host.
func (h hostFlags) hasNamespace() func(string) (bool, error) {
	if h.kubeconfig == "" && h.context == "" {
		return nil
	}
	flags := genericclioptions.NewConfigFlags(true)
	flags.KubeConfig, flags.Context = &h.kubeconfig, &h.context
	return func(namespace string) (bool, error) {
		config, err := flags.ToRESTConfig()
		if err != nil {
			return false, err
		}
		host, err := kubernetes.NewForConfig(config)
		if err != nil {
			return false, err
		}
		_, err = host.CoreV1().Namespaces().Get(context.Background(), namespace, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return false, nil
		case apierrors.IsForbidden(err):
			return true, nil // the author may not read namespaces: assume that the namespace exists, and print no warning
		}
		return err == nil, err
	}
}
