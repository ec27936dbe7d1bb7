// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// missing returns a text about what the fleet has not done yet; "" if nothing is missing.
func (f *fleet) missing(ctx context.Context) (string, error) {
	list := &v1alpha1.FederatedList{}
	if err := f.host.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return "", err
	}
	ready, leaving := 0, 0
	for i := range list.Items {
		w := &list.Items[i]
		if w.DeletionTimestamp != nil {
			leaving++
		}
		if _, wanted := f.users.colours[w.Name]; wanted && isReady(w) {
			ready++
		}
	}
	if len(list.Items) != len(f.users.colours) || ready != len(f.users.colours) {
		return fmt.Sprintf("%d of %d wrappers are ready, %d are still being removed", ready, len(f.users.colours), leaving), nil
	}
	switch is, err := f.workloadIsReady(ctx); {
	case err != nil:
		return "", err
	case !is:
		return fmt.Sprintf("wrapper %s/%s is not ready", workloadNamespace, workloadName), nil
	}
	for name, member := range f.members {
		err := member.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: marks.SharedIntents}, &v1alpha1.Delivery{})
		if err == nil {
			return "the list of shared intents of " + name + " is still there", nil
		}
		if !apierrors.IsNotFound(err) {
			return "", err
		}
	}
	return "", nil
}

// isReady reports whether the host says that the present generation of a wrapper is Ready.
func isReady(w *v1alpha1.Federated) bool {
	is := meta.FindStatusCondition(w.Status.Conditions, v1alpha1.ConditionReady)
	return is != nil && is.Status == metav1.ConditionTrue && is.ObservedGeneration == w.Generation
}

// objectsOn returns the ConfigMaps of wrappers on a member, by name.
func objectsOn(ctx context.Context, member client.Reader) (map[string]*corev1.ConfigMap, error) {
	list := &corev1.ConfigMapList{}
	if err := member.List(ctx, list, client.InNamespace(namespace), client.HasLabels{v1alpha1.LabelUID}); err != nil {
		return nil, err
	}
	there := make(map[string]*corev1.ConfigMap, len(list.Items))
	for i := range list.Items {
		there[list.Items[i].Name] = &list.Items[i]
	}
	return there, nil
}

// compare compares each member with what the users wrote. It returns a line for the user.
func (f *fleet) compare(ctx context.Context) (string, error) {
	var errs []error
	for name, member := range f.members {
		there, err := objectsOn(ctx, member)
		if err != nil {
			return "", err
		}
		list := &v1alpha1.DeliveryList{}
		if err := member.List(ctx, list, client.InNamespace(v1alpha1.SystemNamespace)); err != nil {
			return "", err
		}
		differ := func(format string, args ...any) {
			errs = append(errs, fmt.Errorf("%s: "+format, append([]any{name}, args...)...))
		}
		is, err := workloadOn(ctx, member)
		if err != nil {
			return "", err
		}
		f.compareObjects(there, differ)
		f.compareDeliveries(list.Items, there, is, differ)
		for object, version := range f.untouched[name] {
			if is := there[object]; is != nil && is.ResourceVersion != version {
				differ("ConfigMap %s was written, though no user changed it: managers %v", object, is.ManagedFields)
			}
		}
		if difference := f.workloads[name].difference(is); difference != "" {
			differ("Deployment %s/%s %s", workloadNamespace, workloadName, difference)
		}
	}
	return fmt.Sprintf("%d wrappers as the users wrote them on each of %d members, %d objects that no user touched are as at the end of the first stage, "+
		"and so is a Deployment on each, with %d pods in all", len(f.users.colours), len(f.members), f.countUntouched(), f.countPods()), errors.Join(errs...)
}

func (f *fleet) compareObjects(there map[string]*corev1.ConfigMap, differ func(string, ...any)) {
	for object, colour := range f.users.colours {
		switch is := there[object]; {
		case is == nil:
			differ("ConfigMap %s is missing", object)
		case is.Data["colour"] != colour:
			differ("ConfigMap %s has colour %q, and the user wrote %q", object, is.Data["colour"], colour)
		}
	}
	for object := range there {
		if _, wanted := f.users.colours[object]; !wanted {
			differ("ConfigMap %s is there, and the user has deleted it", object)
		}
	}
}

// listed is the object that a Delivery has to list: its name and its uid on the member, "" if the object is missing there.
type listed struct {
	name string
	uid  types.UID
}

// compareDeliveries checks that the Deliveries list exactly the objects.
func (f *fleet) compareDeliveries(all []v1alpha1.Delivery, there map[string]*corev1.ConfigMap, is *workload, differ func(string, ...any)) {
	wanted := make(map[string]listed, len(f.users.colours)+1) // by the name of the Delivery
	for name := range f.users.colours {
		want := listed{name: name}
		if there[name] != nil {
			want.uid = there[name].UID
		}
		wanted[deliveryOf(namespace, name)] = want
	}
	want := listed{name: workloadName}
	if is != nil {
		want.uid = is.deployment
	}
	wanted[deliveryOf(workloadNamespace, workloadName)] = want
	for i := range all {
		d := &all[i]
		want, ok := wanted[d.Name]
		if !ok {
			differ("Delivery %s is there without a wrapper", d.Name)
			continue
		}
		delete(wanted, d.Name)
		if len(d.Spec.Inventory) != 1 {
			differ("Delivery %s lists %d objects", d.Name, len(d.Spec.Inventory))
			continue
		}
		if e := d.Spec.Inventory[0]; e.Name != want.name || e.State != v1alpha1.EntryApplied || want.uid != "" && e.UID != want.uid {
			differ("Delivery %s lists %s %s as %s with uid %s", d.Name, e.Kind, e.Name, e.State, e.UID)
		}
	}
	for delivery, want := range wanted {
		differ("the Delivery %s of %s is missing", delivery, want.name)
	}
}

// deliveryOf is the name of the Delivery of a wrapper.
func deliveryOf(namespace, name string) string {
	key := deliveries.KeyOf(v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: namespace, Name: name})
	return key.Delivery()
}

func (f *fleet) countPods() int {
	n := 0
	for _, is := range f.workloads {
		n += len(is.pods)
	}
	return n
}

func (f *fleet) countUntouched() int {
	n := 0
	for _, versions := range f.untouched {
		n += len(versions)
	}
	return n
}
