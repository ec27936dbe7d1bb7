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

// openNamespace creates the wrapper's namespace if it is missing, and checks that it is open to the host. If it is not,
// openNamespace refuses all items, so that the pass writes nothing there. Objects that earlier passes delivered while
// the namespace was open stay there.
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
		p.refuseAll(memberapi.Explain("creating", memberapi.Ref("Namespace", namespace), err))
		return nil
	case err != nil:
		return fmt.Errorf("preparing namespace %s on member %s: %w", namespace, p.member.Conn.Name(), err)
	case found.DeletionTimestamp != nil:
		p.member.Namespaces.doubt(way) // at once, because other passes on this member use the cache at the same time
		p.refuseAll(memberapi.Waiting(plan.RetrySoon, v1alpha1.ReasonNamespaceTerminating, "namespace %s is being deleted on the member", namespace))
	case !p.namespaces.isOpen(found):
		p.member.Namespaces.doubt(way)
		p.refuseAll(notOpen(namespace))
	default:
		p.member.Namespaces.found(way)
	}
	return nil
}

// openFor returns how long this pass may rely on an earlier pass that found the namespace open. A pass with repairs may
// rely on it for a shorter time: the objects may be missing because their namespace was deleted.
func (p *Pass) openFor() time.Duration {
	if len(p.drifted) > 0 {
		return openForRepairs
	}
	return openForPushes
}

// anythingToApply reports whether the pass has to apply an object: the Delivery does not record the object's desired
// state as applied, or the object has drifted. A pass that applies nothing does not check the namespace.
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
