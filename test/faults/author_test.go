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

// author writes wrappers into a namespace of its own, as a user does, and checks the state of the members after that.
type author struct {
	*proxiedFleet
	t    *testing.T
	shop string

	// If report is true, the method write sets spec.drift to Report.
	report bool
	// If foreground is true, the method delete uses propagation policy Foreground.
	foreground bool
	// If approves is true, the author writes an Approval of kind Overwrite for each pair that the manager holds.
	approves bool
	// atDeath is the state of the members when the program died. kept is the part of it that must stay on the
	// members. Method died sets both.
	atDeath, kept fleetState
	// settled is the rendering that the Delivery on east recorded before the test wrote the states of scenario.during.
	// recordedAtDeath is the rendering that it recorded when the program died.
	settled, recordedAtDeath string
	// wrappers are the names of all wrappers that method write has written. claims is true once one of these wrappers had
	// a PersistentVolumeClaim.
	wrappers map[string]bool
	claims   bool
	// approved are the Deliveries for which the author has written an Approval.
	approved map[v1alpha1.DeliveryVersion]bool
	// The method restOr calls poll, if set, each time before it reads the state of the members.
	poll func()
	// last is the desired state that the author wrote last; nil if the author deleted the wrapper.
	last *desiredState

	mu sync.Mutex
	// foreign are, by member, the names of objects on the member that belong to another owner, although the author's
	// wrapper has an object of the same name.
	foreign map[string][]string
	// uids has the uid that each object must keep as long as the object exists. The key is MEMBER/NAME.
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

// vanish deletes the wrappers, objects and Deliveries that a failed scenario left. No manager runs then, so vanish also
// removes the wrappers' finalizers.
func (a *author) vanish() {
	ctx := context.Background()
	wrappers := &v1alpha1.FederatedList{}
	_ = a.host.List(ctx, wrappers, client.InNamespace(a.shop)) // an error does not matter: the next scenario uses another namespace
	for i := range wrappers.Items {
		w := &wrappers.Items[i]
		if len(w.Finalizers) > 0 {
			w.Finalizers = nil
			_ = a.host.Update(ctx, w)
		}
		_ = client.IgnoreNotFound(a.host.Delete(ctx, w))
	}
	for name := range a.wrappers { // not only the wrappers on the host: a wrapper that is deleted there may have left a Delivery
		for _, c := range a.members {
			_ = client.IgnoreNotFound(c.Delete(ctx, a.deliveryOf(name)))
		}
	}
	for _, c := range a.members {
		_ = client.IgnoreNotFound(c.Delete(ctx, sharedList()))
	}
}

func (a *author) wrapper() *v1alpha1.Federated { return build.Federated(web).In(a.shop).Obj() }

func (a *author) deliveryOf(wrapper string) *v1alpha1.Delivery {
	return &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{
		Namespace: v1alpha1.SystemNamespace, Name: marks.DeliveryName(v1alpha1.KindFederated, a.shop, wrapper),
	}}
}

// write creates or updates the wrapper on the host. A nil state deletes the wrapper web, and a state with approved set
// only approves a wave.
func (a *author) write(w *desiredState) {
	a.t.Helper()
	a.last = w
	ctx := a.t.Context()
	if w == nil {
		a.delete()
		return
	}
	if w.approved {
		a.approveWave()
		return
	}
	a.wrappers[w.of()], a.claims = true, a.claims || len(w.claims) > 0
	wanted := build.Federated(w.of()).In(a.shop).With(w.manifests()...).To(w.members...).OnConflict(w.onConflict).OnDelete(w.onDelete).Obj()
	wanted.Spec.Rollout.MaxRemoval = new(intstr.FromInt32(1000)) // these tests remove more often within an hour than users do
	if w.waves {
		wanted.Spec.Rollout.Waves = w.rolloutWaves()
	}
	if w.rollsBack {
		wanted.Spec.Rollout.OnFailure = v1alpha1.FailureRollback
	}
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

// takeOver deletes the wrapper's object on the member, and creates an object of another owner with the same name.
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
		a.t.Errorf("replacing ConfigMap %s on %s by another owner's: %v", name, member, err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.foreign[member] = append(a.foreign[member], name)
	a.uids[member+"/"+name] = theirs.GetUID()
}

// changeByHand changes an object of the wrapper on east, as a user of that member does. If content is empty, it deletes
// the object.
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

// history returns the given desired states, together with the objects of other owners and the kept objects. The model
// takes this as its input.
func (a *author) history(states ...[]*desiredState) history {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := history{states: slices.Concat(states...), foreign: make(map[string][]string, len(a.foreign)), kept: a.kept}
	for member, names := range a.foreign {
		h.foreign[member] = slices.Clone(names)
	}
	return h
}

// rest waits until the members have the objects that the model computes for these desired states, and the wrapper's
// status shows them.
func (a *author) rest(states ...[]*desiredState) {
	a.t.Helper()
	a.restOr(nil, states...)
}

// restOr does the same as rest, but returns early once the channel cut is closed.
func (a *author) restOr(cut <-chan struct{}, states ...[]*desiredState) {
	a.t.Helper()
	a.eventually(a.t, "the members have the state that the model computes", func(ctx context.Context) string {
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
		if last != nil && last.rests == "" && slices.Contains(slices.Collect(maps.Values(last.objects)), refused) {
			return a.stalled(ctx, last)
		}
		if err := a.checkOrder(ctx, last); err != nil {
			return err.Error()
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
