// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// look reads the state of the members. An object that only the list of shared intents lists is an entry in state Pending.
func (a *author) look(ctx context.Context) (fleetState, error) {
	wrappers := &v1alpha1.FederatedList{}
	if err := a.host.List(ctx, wrappers, client.InNamespace(a.shop)); err != nil {
		return nil, err
	}
	state := make(fleetState)
	for name, c := range a.members {
		found, err := a.objectsOn(ctx, name)
		if err != nil {
			return nil, err
		}
		is := holding{Objects: make([]string, 0, len(found))}
		for object, o := range found {
			is.Objects = append(is.Objects, object+a.ownership(name, o, wrappers.Items))
		}
		shared, err := a.shared(ctx, name)
		if err != nil {
			return nil, err
		}
		for wrapper := range a.wrappers {
			prefix, d := "", a.deliveryOf(wrapper)
			if wrapper != web {
				prefix = wrapper + "/"
			}
			err := c.Get(ctx, client.ObjectKeyFromObject(d), d)
			switch {
			case client.IgnoreNotFound(err) != nil:
				return nil, err
			case err == nil && len(d.Spec.Inventory) == 0:
				is.Entries = append(is.Entries, prefix+"(a Delivery without entries)")
			}
			is.Entries = append(is.Entries, onlyShared(&d.Spec, shared[wrapper], prefix, wrappers.Items)...)
			for i := range d.Spec.Inventory {
				entry := prefix + d.Spec.Inventory[i].Name + " " + string(d.Spec.Inventory[i].State)
				if whose(string(d.Spec.Wrapper.UID), wrappers.Items) == gone {
					entry += ofGone
				}
				is.Entries = append(is.Entries, entry)
			}
		}
		slices.Sort(is.Objects)
		slices.Sort(is.Entries)
		state[name] = is
	}
	return state, nil
}

// objectsOn returns the ConfigMaps and claims on a member. The keys are "name=content" and "claim name".
func (a *author) objectsOn(ctx context.Context, member string) (map[string]client.Object, error) {
	found := make(map[string]client.Object)
	list, claims := &corev1.ConfigMapList{}, &corev1.PersistentVolumeClaimList{}
	if err := a.members[member].List(ctx, list, client.InNamespace(a.shop)); err != nil {
		return nil, err
	}
	for i := range list.Items {
		if o := &list.Items[i]; o.Name != "kube-root-ca.crt" {
			found[o.Name+"="+o.Data["content"]] = o
		}
	}
	if a.claims {
		if err := a.members[member].List(ctx, claims, client.InNamespace(a.shop)); err != nil {
			return nil, err
		}
	}
	for i := range claims.Items {
		found["claim "+claims.Items[i].Name] = &claims.Items[i]
	}
	return found, nil
}

// In a fleetState, the constant gone stands in place of the name of a deleted wrapper. ofGone is the end of the text of each
// object and entry that belongs to a deleted wrapper.
const (
	gone   = "a deleted wrapper"
	ofGone = " of " + gone
)

// whose returns the name of the wrapper that has this uid, or the constant gone if no wrapper has it.
func whose(uid string, wrappers []v1alpha1.Federated) string {
	for i := range wrappers {
		if string(wrappers[i].UID) == uid {
			return wrappers[i].Name
		}
	}
	return gone
}

// ownership returns the text that the method look appends to the name of an object: " of " and the wrapper that the object's marks name, then
// ", being deleted", then a note if the object was created again with another uid.
func (a *author) ownership(member string, o client.Object, wrappers []v1alpha1.Federated) string {
	text := ""
	if uid := o.GetLabels()[v1alpha1.LabelUID]; uid != "" {
		text = " of " + whose(uid, wrappers)
	}
	if o.GetDeletionTimestamp() != nil {
		text += ", being deleted"
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if uid := a.uids[member+"/"+o.GetName()]; uid != "" && uid != o.GetUID() {
		text += ", made again"
	}
	return text
}

// statusLines returns each wrapper's line for each member. Messages of failed tests show it.
func (a *author) statusLines(ctx context.Context) string {
	wrappers, text := &v1alpha1.FederatedList{}, ""
	_ = a.host.List(ctx, wrappers, client.InNamespace(a.shop)) // after an error the text is just shorter
	for _, w := range wrappers.Items {
		for _, line := range w.Status.Clusters {
			text += fmt.Sprintf("\n%s on %s: %s %s %s", w.Name, line.Name, line.State, line.Reason, line.Message)
		}
	}
	return text
}

// checkStatus compares the status of the wrappers with their desired states. It returns "" or the difference.
func (a *author) checkStatus(ctx context.Context, h history) string {
	for name, last := range h.last() {
		w := build.Federated(name).In(a.shop).Obj()
		err := a.host.Get(ctx, client.ObjectKeyFromObject(w), w)
		if last == nil || last.absent {
			if !apierrors.IsNotFound(err) {
				return fmt.Sprintf("reading the wrapper: %v", err)
			}
			continue
		}
		if err != nil {
			return err.Error()
		}
		ready := meta.FindStatusCondition(w.Status.Conditions, v1alpha1.ConditionReady)
		want := metav1.ConditionTrue
		if is := &w.Status.Rollout; last.rests != "" && last.rests != strings.TrimSpace(string(is.State)+" "+is.WaitingFor) {
			return fmt.Sprintf("the rollout is %+v", *is)
		}
		if h.inTheWay(last) || last.rests != "" {
			want = metav1.ConditionFalse
		}
		if len(last.claims) == 0 && (ready == nil || ready.Status != want || ready.ObservedGeneration != w.Generation) {
			return fmt.Sprintf("the wrapper's condition Ready is %+v", ready)
		}
		if diff := cmp.Diff(last.members, w.Status.Placement.Clusters); diff != "" {
			return "the members in status.placement (-desired +is)\n" + diff
		}
	}
	return ""
}

// stalled returns "" once the wrapper's status reports each of its members as Stalled. restOr calls it only for a wrapper with
// an object that the members' API servers refuse.
func (a *author) stalled(ctx context.Context, last *desiredState) string {
	w := a.wrapper()
	if err := a.host.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
		return err.Error()
	}
	for _, line := range w.Status.Clusters {
		if slices.Contains(last.members, line.Name) && line.State != v1alpha1.StateStalled {
			return fmt.Sprintf("the line of member %s has %s %s %s", line.Name, line.State, line.Reason, line.Message)
		}
	}
	if w.Status.ObservedGeneration != w.Generation {
		return "the status is of an earlier generation"
	}
	return ""
}
