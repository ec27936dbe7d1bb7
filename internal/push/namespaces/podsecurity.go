// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"context"
	"fmt"
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// podSecurity is the prefix of the labels of Pod Security admission. With these labels, the owner of a namespace sets
// which security standard the pods there must meet.
const podSecurity = "pod-security.kubernetes.io/"

// HostLabels reads the labels of a namespace on the host. The error is NotFound if the host has no such namespace.
type HostLabels func(ctx context.Context, namespace string) (map[string]string, error)

// unreadLabelsError reports that the manager could not read the labels of a namespace on the host, and so did not
// create that namespace on a member. The member is not the cause.
type unreadLabelsError struct {
	namespace string
	err       error
}

func (e *unreadLabelsError) Error() string {
	return fmt.Sprintf("the manager did not create namespace %[1]s on the member, because it cannot read the Pod Security labels of namespace %[1]s on the host: %[2]s", e.namespace, e.err)
}

// trouble turns the error into trouble of the pass. If the namespace does not exist on the host, the state is Waiting:
// Kubernetes deletes the wrapper together with its namespace.
func (e *unreadLabelsError) trouble() memberapi.Trouble {
	if apierrors.IsNotFound(e.err) {
		return memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonNamespaceTerminating, "namespace %s was deleted on the host; its wrappers are deleted with it", e.namespace)
	}
	return memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Message: plan.Quote(e.Error()), Retry: plan.RetrySoon}
}

// createForFederated creates the namespace of a Federated on the member. The namespace is in no inventory, and the
// manager does not delete it when the Federated leaves, because other clients may have put objects into it.
//
// The new namespace gets the Pod Security labels that the host's namespace has at this moment. Without these labels, an
// author could run a pod on a member that the host would refuse. Later changes of the labels on the host do not change
// the member's namespace.
func (n *Namespaces) createForFederated(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
	ns := &unstructured.Unstructured{Object: map[string]any{}}
	ns.SetName(name)
	if n.hostLabels != nil {
		labels, err := n.hostLabels(ctx, name)
		if err != nil {
			return nil, &unreadLabelsError{name, err}
		}
		labels = maps.Clone(labels)
		maps.DeleteFunc(labels, func(key, _ string) bool { return !strings.HasPrefix(key, podSecurity) })
		ns.SetLabels(labels)
	}
	made, err := n.Create(ctx, ns)
	if apierrors.IsAlreadyExists(err) {
		return n.Get(ctx, name)
	}
	return made, err
}
