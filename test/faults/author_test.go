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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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
	// last is the last desired state that was written.
	last *wish

	mu sync.Mutex
	// foreign are the objects of another owner in the place of ours, by member.
	foreign map[string][]string
}

var shops atomic.Int64

func (f *proxiedFleet) newAuthor(t *testing.T) *author {
	t.Helper()
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("shop-%d-%d", os.Getpid(), shops.Add(1))}}
	if err := f.host.Create(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	a := &author{proxiedFleet: f, t: t, shop: shop.Name, foreign: make(map[string][]string)}
	t.Cleanup(a.vanish)
	return a
}

// vanish deletes the objects of a failed scenario, without the manager.
func (a *author) vanish() {
	ctx := context.Background()
	w := a.wrapper()
	if a.host.Get(ctx, client.ObjectKeyFromObject(w), w) == nil && len(w.Finalizers) > 0 {
		w.Finalizers = nil
		_ = a.host.Update(ctx, w) // an error does not matter: this only clears the way for the next scenario
	}
	_ = client.IgnoreNotFound(a.host.Delete(ctx, w))
	for _, c := range a.members {
		_ = client.IgnoreNotFound(c.Delete(ctx, a.delivery()))
	}
}

func (a *author) wrapper() *v1alpha1.Federated { return build.Federated("web").In(a.shop).Obj() }

func (a *author) delivery() *v1alpha1.Delivery {
	return &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{
		Namespace: v1alpha1.SystemNamespace, Name: marks.DeliveryName(v1alpha1.KindFederated, a.shop, "web"),
	}}
}

// wish writes the desired state to the host.
func (a *author) wish(w *wish) {
	a.t.Helper()
	a.last = w
	ctx := a.t.Context()
	if w == nil {
		if err := a.host.Delete(ctx, a.wrapper()); err != nil {
			a.t.Fatal(err)
		}
		return
	}
	var objects []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(w.objects)) {
		content := build.ConfigMap(name, "content", w.objects[name])
		if w.objects[name] == refused {
			content = build.ConfigMap(name, "no key has spaces", refused)
		}
		objects = append(objects, content)
	}
	wanted := build.Federated("web").In(a.shop).With(objects...).To(w.members...).Obj()
	wanted.Spec.Rollout.MaxRemoval = new(intstr.FromInt32(1000)) // these tests remove more often within an hour than users do
	if a.report {
		wanted.Spec.Drift = v1alpha1.DriftReport
	}
	err := a.host.Create(ctx, wanted)
	if apierrors.IsAlreadyExists(err) {
		err = retry.RetryOnConflict(retry.DefaultBackoff, func() error {
			there := a.wrapper()
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

// usurp replaces our object by one of another owner.
func (a *author) usurp(member, name string) {
	ctx, c := context.Background(), a.members[member]
	theirs := build.ConfigMap(name, "content", somebodys)
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
}

// harm changes an object of ours on east by hand, or deletes it if content is empty.
func (a *author) harm(name, content string) {
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
func (a *author) history(wishes ...[]*wish) history {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := history{wishes: slices.Concat(wishes...), foreign: make(map[string][]string, len(a.foreign))}
	for member, names := range a.foreign {
		h.foreign[member] = slices.Clone(names)
	}
	return h
}

// rest waits until the members hold what the model says for these wishes, and the wrapper's status says so too.
func (a *author) rest(wishes ...[]*wish) {
	a.t.Helper()
	a.restOr(nil, wishes...)
}

// restOr is rest that another condition can end early.
func (a *author) restOr(cut <-chan struct{}, wishes ...[]*wish) {
	a.t.Helper()
	a.eventually(a.t, "what the model says", func(ctx context.Context) string {
		select {
		case <-cut:
			return ""
		default:
		}
		h := a.history(wishes...)
		last := h.wishes[len(h.wishes)-1]
		if last != nil && slices.Contains(slices.Collect(maps.Values(last.objects)), refused) {
			return a.stalled(ctx, last)
		}
		is, err := a.look(ctx)
		if err != nil {
			return err.Error()
		}
		if diff := cmp.Diff(model(h).String(), is.String()); diff != "" {
			return "(-model +fleet)\n" + diff
		}
		return a.said(ctx, h)
	})
}

// look returns what the members hold.
func (a *author) look(ctx context.Context) (fleetState, error) {
	w := make(fleetState)
	for name, c := range a.members {
		var is holding
		list := &corev1.ConfigMapList{}
		if err := c.List(ctx, list, client.InNamespace(a.shop)); err != nil {
			return nil, err
		}
		for i := range list.Items {
			if o := &list.Items[i]; o.Name != "kube-root-ca.crt" {
				is.Objects = append(is.Objects, o.Name+"="+o.Data["content"])
			}
		}
		d := a.delivery()
		err := c.Get(ctx, client.ObjectKeyFromObject(d), d)
		switch {
		case client.IgnoreNotFound(err) != nil:
			return nil, err
		case err == nil && len(d.Spec.Inventory) == 0:
			is.Entries = []string{"a Delivery without any"}
		}
		for i := range d.Spec.Inventory {
			is.Entries = append(is.Entries, d.Spec.Inventory[i].Name+" "+string(d.Spec.Inventory[i].State))
		}
		slices.Sort(is.Objects)
		slices.Sort(is.Entries)
		w[name] = is
	}
	return w, nil
}

// said compares the wrapper's status with the state of the members.
func (a *author) said(ctx context.Context, h history) string {
	w, last := a.wrapper(), h.wishes[len(h.wishes)-1]
	err := a.host.Get(ctx, client.ObjectKeyFromObject(w), w)
	if last == nil {
		if apierrors.IsNotFound(err) {
			return ""
		}
		return fmt.Sprintf("the wrapper is there: %v", err)
	}
	if err != nil {
		return err.Error()
	}
	ready := meta.FindStatusCondition(w.Status.Conditions, v1alpha1.ConditionReady)
	want := metav1.ConditionTrue
	if h.inTheWay() {
		want = metav1.ConditionFalse
	}
	if ready == nil || ready.Status != want || ready.ObservedGeneration != w.Generation {
		return fmt.Sprintf("the wrapper says %+v", ready)
	}
	if diff := cmp.Diff(last.members, w.Status.Placement.Clusters); diff != "" {
		return "the decision (-wish +is)\n" + diff
	}
	return ""
}

// stalled waits until the status reports each member's refusal.
func (a *author) stalled(ctx context.Context, last *wish) string {
	w := a.wrapper()
	if err := a.host.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
		return err.Error()
	}
	for _, line := range w.Status.Clusters {
		if slices.Contains(last.members, line.Name) && line.State != v1alpha1.StateStalled {
			return fmt.Sprintf("%s says %s %s %s", line.Name, line.State, line.Reason, line.Message)
		}
	}
	if w.Status.ObservedGeneration != w.Generation {
		return "a status of an earlier generation"
	}
	return ""
}
