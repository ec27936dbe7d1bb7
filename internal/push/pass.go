// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/keymutex"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// pass is one attempt to bring a pair to what is wanted.
type pass struct {
	conn *member.Conn
	want *Want
	// drifted are the objects to apply again although they are recorded, by identity.
	drifted map[identity]v1alpha1.DriftKind
	// gone are the uids of those that the collector has said to be gone.
	gone map[identity]types.UID

	// claims keeps passes of one member apart that are about to make an object of the same name; nil where
	// there is only one.
	claims keymutex.KeyMutex
	// doors are the namespaces that were found open of late; nil where none is remembered.
	doors *doors
	// hostLabels reads the labels of a namespace of the host; nil where nobody can.
	hostLabels HostLabels
	// isNew says that no Delivery of the pair was ever seen on the member: none is read, and making one that is there after
	// all fails.
	isNew bool
	// seals is with what Deliveries on this member are sealed; the zero value seals none and trusts none.
	seals deliveries.Seals

	// delivery is the Delivery as it is on the member, kept up to date by every write; nil when there
	// is none. Set by read.
	delivery *v1alpha1.Delivery
	// rendering is what is wanted, nil where the member is to be left. Set by render.
	rendering *render.Rendering
	// items are the wanted objects in install order. Set by resolve.
	items []*item
	// leaving are the entries to remove, in reverse install order. Set by intend.
	leaving []*removal
	// wanted says whether what the pass is for still is what is wanted; nil is always.
	wanted func() bool
	// waits says which removal waits for what could not be applied; "" when none does. Set by remove.
	waits string
	// kept are objects that the member keeps although it, or they, are left, each with the reason. Set by remove.
	kept []Kept
	// dependents is to which objects the claims there lead; nil while nobody has asked. Set by remove.
	dependents *dependents
	// freed is whether something that kept others out has gone, so that these may come through now. Set by
	// remove.
	freed bool
	// trouble collects what is in the way of single objects; the others go on.
	trouble []trouble
}

// identity tells objects of one delivery apart.
type identity struct {
	group, kind, name string
}

func identityOf(e *v1alpha1.InventoryEntry) identity { return identity{e.Group, e.Kind, e.Name} }

// item is one wanted object on its way.
type item struct {
	object  *render.Object
	mapping *meta.RESTMapping
	// entry is what the inventory will say of it.
	entry v1alpha1.InventoryEntry
	// recorded is whether the Delivery had it Applied, with a uid: then it is ours without looking.
	recorded bool
	// due is whether it has to be applied. Set by intend, taken back by a successful apply.
	due bool
	// version is the resourceVersion that an apply brought back; "" where there was none.
	version string
	// refused is whether it must not or cannot be applied now; trouble says why.
	refused bool
}

func (i *item) id() identity { return identityOf(&i.entry) }

// isMissing says whether the object does not stand as it is wanted.
func (i *item) isMissing() bool { return i.due || i.refused }

func (i *item) groupKind() schema.GroupKind { return i.object.GVK.GroupKind() }

// run takes the pair through all steps. An error is one of the wire, after which nothing is known of
// how the last request went: the next pass finds out. Everything else is in the outcome.
func (p *pass) run(ctx context.Context) (Outcome, error) {
	if err := p.read(ctx); err != nil {
		return Outcome{}, err
	}
	if held := p.hold(); held != nil {
		return p.conclude(held), nil
	}
	if unrendered := p.render(); unrendered != nil {
		return p.conclude(unrendered), nil
	}
	// Until intend has come to its end the pass does not know all that the Delivery lists, and must not
	// write it: what it left out would be on the member and in no record.
	for _, step := range []func(context.Context) error{p.resolve, p.enter, p.intend} {
		if err := step(ctx); err != nil {
			return Outcome{}, err
		}
	}
	for _, step := range []func(context.Context) error{p.apply, p.remove} {
		if err := step(ctx); err != nil {
			// As far as it got is recorded also when it got stuck; should that fail too, the entries
			// are still Pending and the next pass looks.
			_ = p.record(ctx)
			return Outcome{}, err
		}
	}
	if err := p.record(ctx); err != nil {
		return Outcome{}, err
	}
	return p.conclude(nil), nil
}

// render makes the objects that are wanted. That succeeded when the Want was made, and does so each time.
func (p *pass) render() *trouble {
	if p.want.Leaving() {
		return nil
	}
	var err error
	if p.rendering, err = p.want.Rendering.Render(); err != nil {
		return &trouble{state: v1alpha1.StateStalled, reason: v1alpha1.ReasonOverrideInvalid, message: err.Error()}
	}
	return nil
}

// conclude sums the pass up.
func (p *pass) conclude(held *trouble) Outcome {
	if len(p.trouble) > 0 {
		p.doors.doubt(door{p.want.Namespaces, p.want.Wrapper.Namespace})
	}
	out := Outcome{want: p.want, Kept: p.kept}
	if p.delivery != nil {
		out.uid, out.generation = p.delivery.UID, p.delivery.Generation
	}
	for id := range p.drifted {
		if held != nil || slices.ContainsFunc(p.items, func(it *item) bool { return it.id() == id && it.isMissing() }) {
			out.unmended = append(out.unmended, id)
		}
	}
	all := p.trouble
	if held != nil {
		all = []trouble{*held}
	}
	if len(all) == 0 {
		out.Done = true
		return out
	}
	worst := worstOf(all)
	out.Overtaken = worst.overtaken
	out.State, out.Reason, out.Message, out.Retry = worst.state, worst.reason, worst.message, worst.retry
	if p.waits != "" {
		out.Message = p.waits + "; " + out.Message
	}
	if p.freed {
		out.Retry = retrySoon
	}
	for _, t := range all {
		if t.retry > 0 && (out.Retry == 0 || t.retry < out.Retry) {
			out.Retry = t.retry
		}
	}
	return out
}

// hold says why nothing may be written at all, nil when it may.
func (p *pass) hold() *trouble {
	if p.want.Suspended {
		return &trouble{state: v1alpha1.StateHeld, reason: v1alpha1.ReasonSuspended,
			message: "changes wait: the wrapper or the member is suspended"}
	}
	if p.delivery == nil {
		return nil
	}
	if p.want.overwrites(p.delivery) {
		return nil
	}
	there, want := &p.delivery.Spec.Wrapper, &p.want.Wrapper
	switch {
	case there.UID == want.UID && there.Generation > want.Generation:
		return p.overtaken(v1alpha1.ReasonHostBehindMember,
			"the member holds generation %d and the host only knows %d: `%s` shows the ways out; was the host restored from a backup?",
			there.Generation, want.Generation, recoverCommand(want))
	case there.UID != want.UID && !p.isSealed():
		return p.overtaken(v1alpha1.ReasonWrapperReplaced,
			"the member holds a Delivery of this name that this host has not sealed: `%s` shows the ways out; it says it is of uid %s",
			recoverCommand(want), there.UID)
	case there.UID != want.UID && (p.delivery.Spec.Target == nil || p.delivery.Spec.Target.Rendering != p.want.digest()):
		return p.overtaken(v1alpha1.ReasonWrapperReplaced,
			"the member holds other objects for an earlier wrapper of this name: `%s` shows the ways out; that one had uid %s",
			recoverCommand(want), there.UID)
	}
	return nil
}

// overtaken holds the pair until a person says whose word counts, the host's or the member's.
func (p *pass) overtaken(reason, format string, args ...any) *trouble {
	return &trouble{state: v1alpha1.StateHeld, reason: reason, message: fmt.Sprintf(format, args...),
		overtaken: &v1alpha1.DeliveryVersion{UID: p.delivery.UID, Generation: p.delivery.Generation}}
}

// recoverCommand is what a person runs about a wrapper that is held.
func recoverCommand(w *v1alpha1.WrapperIdentity) string {
	if w.Kind == v1alpha1.KindClusterFederated {
		return "hostctl recover cfed/" + w.Name
	}
	return "hostctl recover " + w.Name + " -n " + w.Namespace
}

// ref is how messages name an object.
func ref(kind, name string) string { return kind + " " + name }
