// SPDX-License-Identifier: Apache-2.0

package apply

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

// podSecurity begins the labels by which the API server's Pod Security admission holds the pods of a namespace to a standard.
const podSecurity = "pod-security.kubernetes.io/"

// HostLabels reads the labels of a namespace of the host. An error may be NotFound.
type HostLabels func(ctx context.Context, namespace string) (map[string]string, error)

// unreadLabelsError is a problem of the host, not of the member: the labels for a new namespace are unknown.
type unreadLabelsError struct {
	namespace string
	err       error
}

func (e *unreadLabelsError) Error() string {
	return fmt.Sprintf("the manager did not create namespace %[1]s on the member, because it cannot read the Pod Security labels of namespace %[1]s on the host: %[2]s", e.namespace, e.err)
}

// trouble is the error in the form of a status line. When the namespace is gone, its wrapper goes with it.
func (e *unreadLabelsError) trouble() memberapi.Trouble {
	if apierrors.IsNotFound(e.err) {
		return memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonNamespaceTerminating, "namespace %s is gone on the host", e.namespace)
	}
	return memberapi.Trouble{State: v1alpha1.StateDegraded, Reason: v1alpha1.ReasonPushError, Message: e.Error(), Retry: plan.RetrySoon}
}

// createForFederated creates the namespace of a Federated. No inventory lists it, and the Federated never deletes it: other
// clients may have put objects into it.
//
// It gets the Pod Security labels that the host's namespace has at this moment. A pod that the host would refuse must
// not run on a member because its author federated it. Later changes of the labels are up to the member.
func (n *namespaces) createForFederated(ctx context.Context, name string) (*metav1.PartialObjectMetadata, error) {
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
	made, err := n.create(ctx, ns)
	if apierrors.IsAlreadyExists(err) {
		return n.get(ctx, name)
	}
	return made, err
}
