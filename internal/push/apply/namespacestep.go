// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
	"github.com/fairlead-dev/fairlead/overrides"
)

// openNamespace makes sure that the wrapper's namespace exists and is open. If the member keeps it closed, the
// manager writes nothing there; objects that it delivered while the namespace was open stay.
func (p *Pass) openNamespace(ctx context.Context) error {
	namespace := p.desired.Wrapper.Namespace
	if p.desired.Leaving() || namespace == "" || !p.anythingToApply() {
		return nil
	}
	if overrides.IsSystemNamespace(namespace) {
		p.refuseAll(memberapi.Stalled(v1alpha1.ReasonNamespaceNotOpen, "namespace %s is a system namespace: Fairlead delivers nothing into it", namespace))
		return nil
	}
	way := namespaceKey{p.desired.Namespaces, namespace}
	if p.member.Namespaces.isOpen(way, p.openFor()) {
		return nil
	}
	found, err := p.namespaces.get(ctx, namespace)
	if apierrors.IsNotFound(err) {
		found, err = p.namespaces.createForFederated(ctx, namespace)
	}
	if unread := (*unreadLabelsError)(nil); errors.As(err, &unread) {
		p.refuseAll(unread.trouble())
		return nil
	}
	switch {
	case err != nil && memberapi.Answered(err):
		p.refuseAll(memberapi.Explain("making", memberapi.Ref("Namespace", namespace), err))
		return nil
	case err != nil:
		return fmt.Errorf("preparing namespace %s on member %s: %w", namespace, p.member.Conn.Name(), err)
	case found.DeletionTimestamp != nil:
		p.member.Namespaces.doubt(way) // for passes that run now; conclude does so for later passes
		p.refuseAll(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonNamespaceTerminating, "namespace %s is being deleted on the member", namespace))
	case !p.namespaces.isOpen(found):
		p.member.Namespaces.doubt(way)
		p.refuseAll(notOpen(namespace))
	default:
		p.member.Namespaces.found(way)
	}
	return nil
}

// openFor is how long a namespace that was found open counts as open. For a repair this is no longer than it takes to
// restore objects that were deleted together, since their namespace may have been deleted with them.
func (p *Pass) openFor() time.Duration {
	if len(p.drifted) > 0 {
		return openForRepairs
	}
	return openForPushes
}

// anythingToApply reports whether the Delivery lacks some object in its desired state. A pass that only removes
// objects need not check the namespace.
func (p *Pass) anythingToApply() bool {
	recorded := p.delivery.entries()
	for _, it := range p.items {
		if it.refused {
			continue
		}
		entry, ok := recorded[it.id()]
		_, drifted := p.drifted[it.id()]
		if !ok || drifted || entry.State != v1alpha1.EntryApplied || entry.Rendering != it.entry.Rendering {
			return true
		}
	}
	return false
}

func (p *Pass) refuseAll(t memberapi.Trouble) {
	for _, it := range p.items {
		it.refused = true
	}
	p.trouble.Add(t)
}
