// SPDX-License-Identifier: Apache-2.0

package namespaces

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/overrides"
)

// Open creates the wrapper's namespace if it is missing, and checks that it is open to the host. If it is not, Open
// returns the refusal, and the pass must write nothing into the namespace. Objects that earlier passes delivered while
// the namespace was open stay there.
//
// A pass with repairs relies on the cache for a shorter time than other passes: the objects may be missing because their
// namespace was deleted.
func (n *Namespaces) Open(ctx context.Context, namespace string, repairs bool) (refusal *memberapi.Trouble, err error) {
	if overrides.IsSystemNamespace(namespace) {
		return refused(memberapi.Stalled(v1alpha1.ReasonNamespaceNotOpen, "namespace %s is a system namespace: Fairlead delivers nothing into it", namespace))
	}
	key := cacheKey{n.policy, namespace}
	while := openForPushes
	if repairs {
		while = openForRepairs
	}
	if n.cache.isOpen(key, while) {
		return nil, nil
	}
	found, err := n.Get(ctx, namespace)
	if apierrors.IsNotFound(err) {
		found, err = n.createForFederated(ctx, namespace)
	}
	if unread := (*unreadLabelsError)(nil); errors.As(err, &unread) {
		return refused(unread.trouble())
	}
	switch {
	case err != nil && memberapi.Answered(err):
		return refused(memberapi.Explain("creating", memberapi.Ref("Namespace", namespace), err))
	case err != nil:
		return nil, fmt.Errorf("preparing namespace %s on member %s: %w", namespace, n.conn.Name(), err)
	case found.DeletionTimestamp != nil:
		n.cache.doubt(key) // at once, because other passes on this member use the cache at the same time
		return refused(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonNamespaceTerminating, "namespace %s is being deleted on the member", namespace))
	case !n.IsOpen(found):
		n.cache.doubt(key)
		return refused(NotOpen(namespace))
	}
	n.cache.found(key)
	return nil, nil
}

// Doubt makes the next pass read the namespace again, because this pass had trouble there.
func (n *Namespaces) Doubt(namespace string) { n.cache.doubt(cacheKey{n.policy, namespace}) }

func refused(why memberapi.Trouble) (*memberapi.Trouble, error) { return &why, nil }
