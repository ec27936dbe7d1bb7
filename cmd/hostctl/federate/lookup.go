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

// hostFlags name the host from which federate may read. federate reads from a host only if a flag names it: the output must not
// depend on the current context of a kubeconfig.
type hostFlags struct {
	kubeconfig, context string
}

// lookup returns a function that reads the scope of a kind from the host's discovery. It returns nil without flags.
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

// hasNamespace returns a function that reads whether the host has a namespace. It returns nil without flags.
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
			return true, nil // the author may not read namespaces, so there is nothing to warn about
		}
		return err == nil, err
	}
}
