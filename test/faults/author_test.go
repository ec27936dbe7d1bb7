// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// author writes one wrapper in a namespace of its own, and checks the result.
type author struct {
	*proxiedFleet
	t    *testing.T
	shop string

	// report sets spec.drift to Report.
	report bool
	// foreground deletes the wrapper with propagation policy Foreground.
	foreground bool
	// approves makes the author approve the host's version when the manager holds the pair and asks for that.
	approves bool
	// atDeath is the state of the members when the manager died. kept is the part of it that has to stay. died sets
	// both.
	atDeath, kept fleetState
	// settled is the rendering that the Delivery on east recorded before the states of during, and recordedAtDeath the one at
	// the death.
	settled, recordedAtDeath string
	// wrappers are the names of the wrappers. claims reports whether there may be claims. write sets both.
	wrappers map[string]bool
	claims   bool
	// approved are the Deliveries for which the author has written an Approval.
	approved map[v1alpha1.DeliveryVersion]bool
	// poll, if set, is called on every look at the fleet.
	poll func()
	// last is the last desired state that was written.
	last *desiredState

	mu sync.Mutex
	// foreign are the objects of another owner that have the names of ours, by member.
	foreign map[string][]string
	// uids are the uids that objects have to keep as long as they are on the member, by member and object.
	uids map[string]types.UID
}

var shops atomic.Int64

func (f *proxiedFleet) newAuthor(t *testing.T) *author {
	t.Helper()
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("shop-%d-%d", os.Getpid(), shops.Add(1))}}
	if err := f.host.Create(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	a := &author{proxiedFleet: f, t: t, shop: shop.Name, foreign: make(map[string][]string), uids: make(map[string]types.UID),
		approved: make(map[v1alpha1.DeliveryVersion]bool), wrappers: map[string]bool{web: true}}
	t.Cleanup(a.vanish)
	return a
}

// vanish deletes the objects of a failed scenario, without the manager.
func (a *author) vanish() {
	ctx := context.Background()
	wrappers := &v1alpha1.FederatedList{}
	_ = a.host.List(ctx, wrappers, client.InNamespace(a.shop)) // an error does not matter: this only clears the way for the next scenario
	for i := range wrappers.Items {
		w := &wrappers.Items[i]
		if len(w.Finalizers) > 0 {
			w.Finalizers = nil
			_ = a.host.Update(ctx, w)
		}
		_ = client.IgnoreNotFound(a.host.Delete(ctx, w))
	}
	for name := range a.wrappers { // also an orphan's: a MemberCluster lists the names of only some orphans
		for _, c := range a.members {
			_ = client.IgnoreNotFound(c.Delete(ctx, a.deliveryOf(name)))
		}
	}
}

func (a *author) wrapper() *v1alpha1.Federated { return build.Federated(web).In(a.shop).Obj() }

func (a *author) deliveryOf(wrapper string) *v1alpha1.Delivery {
	return &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{
		Namespace: v1alpha1.SystemNamespace, Name: marks.DeliveryName(v1alpha1.KindFederated, a.shop, wrapper),
	}}
}

// write writes the desired state to the host.
func (a *author) write(w *desiredState) {
	a.t.Helper()
	a.last = w
	ctx := a.t.Context()
	if w == nil {
		a.delete()
		return
	}
	a.wrappers[w.of()], a.claims = true, a.claims || len(w.claims) > 0
	wanted := build.Federated(w.of()).In(a.shop).With(w.manifests()...).To(w.members...).OnConflict(w.onConflict).OnDelete(w.onDelete).Obj()
	wanted.Spec.Rollout.MaxRemoval = new(intstr.FromInt32(1000)) // these tests remove more often within an hour than users do
	if a.report {
		wanted.Spec.Drift = v1alpha1.DriftReport
	}
	err := a.host.Create(ctx, wanted)
	if apierrors.IsAlreadyExists(err) {
		err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			there := build.Federated(w.of()).In(a.shop).Obj()
			if err := a.host.Get(ctx, client.ObjectKeyFromObject(there), there); err != nil {
				return err
			}
			there.Spec = wanted.Spec
			return a.host.Update(ctx, there)
		})
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// manifests are the objects of a desired state.
func (w *desiredState) manifests() []*unstructured.Unstructured {
	var objects []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(w.objects)) {
		content := build.ConfigMap(name, "content", w.objects[name])
		if w.objects[name] == refused {
			content = build.ConfigMap(name, "no key has spaces", refused)
		}
		if w.replaced {
			content.Object["immutable"] = true
			content = build.Annotated(content, v1alpha1.AnnotationReplace, "true")
		}
		objects = append(objects, content)
	}
	for _, name := range w.claims {
		objects = append(objects, build.Claim(name))
	}
	return objects
}

// takeOver replaces our object by one of another owner.
func (a *author) takeOver(member, name string) {
	ctx, c := context.Background(), a.members[member]
	theirs := build.ConfigMap(name, "content", foreignContent)
	theirs.SetNamespace(a.shop)
	err := client.IgnoreAlreadyExists(c.Create(ctx, build.Namespace(a.shop)))
	if err == nil {
		err = client.IgnoreNotFound(c.Delete(ctx, theirs.DeepCopy()))
	}
	if err == nil {
		err = c.Create(ctx, theirs)
	}
	if err != nil {
		a.t.Errorf("taking the place of ConfigMap %s on %s: %v", name, member, err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.foreign[member] = append(a.foreign[member], name)
	a.uids[member+"/"+name] = theirs.GetUID()
}

// changeByHand changes an object of ours on east by hand, or deletes it if content is empty.
func (a *author) changeByHand(name, content string) {
	a.t.Helper()
	ctx, c := a.t.Context(), a.members["east"]
	is := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.shop, Name: name}}
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if content == "" {
			return c.Delete(ctx, is)
		}
		if err := c.Get(ctx, client.ObjectKeyFromObject(is), is); err != nil {
			return err
		}
		is.Data["content"] = content
		return c.Update(ctx, is)
	})
	if err != nil {
		a.t.Fatal(err)
	}
}

// history returns what users have done so far.
func (a *author) history(states ...[]*desiredState) history {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := history{states: slices.Concat(states...), foreign: make(map[string][]string, len(a.foreign)), kept: a.kept}
	for member, names := range a.foreign {
		h.foreign[member] = slices.Clone(names)
	}
	return h
}

// rest waits until the members hold the objects that the model computes for these desired states, and the wrapper's status
// agrees.
func (a *author) rest(states ...[]*desiredState) {
	a.t.Helper()
	a.restOr(nil, states...)
}

// restOr is rest that another condition can end early.
func (a *author) restOr(cut <-chan struct{}, states ...[]*desiredState) {
	a.t.Helper()
	a.eventually(a.t, "what the model says", func(ctx context.Context) string {
		select {
		case <-cut:
			return ""
		default:
		}
		if a.poll != nil {
			a.poll()
		}
		h := a.history(states...)
		last := h.states[len(h.states)-1]
		if last != nil && slices.Contains(slices.Collect(maps.Values(last.objects)), refused) {
			return a.stalled(ctx, last)
		}
		is, err := a.look(ctx)
		if err != nil {
			return err.Error()
		}
		if a.approves {
			if err := a.approve(ctx, is); err != nil {
				return err.Error()
			}
		}
		if diff := cmp.Diff(model(h).String(), is.String()); diff != "" {
			return "(-model +fleet)\n" + diff + a.statusLines(ctx)
		}
		return a.checkStatus(ctx, h)
	})
}
