// SPDX-License-Identifier: Apache-2.0

package build

import (
	"encoding/json"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// ClientWrapper is a wrapper of either scope that is a client.Object too.
type ClientWrapper interface {
	client.Object
	v1alpha1.Wrapper
}

// Builder builds a wrapper; T is *v1alpha1.Federated or *v1alpha1.ClusterFederated.
type Builder[T ClientWrapper] struct{ obj T }

// Federated begins a Federated of that name, placed nowhere.
func Federated(name string) *Builder[*v1alpha1.Federated] {
	return &Builder[*v1alpha1.Federated]{obj: &v1alpha1.Federated{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: string(v1alpha1.KindFederated)},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}}
}

// ClusterFederated begins a ClusterFederated of that name, placed nowhere.
func ClusterFederated(name string) *Builder[*v1alpha1.ClusterFederated] {
	return &Builder[*v1alpha1.ClusterFederated]{obj: &v1alpha1.ClusterFederated{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: string(v1alpha1.KindClusterFederated)},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}}
}

// Obj returns the wrapper.
func (b *Builder[T]) Obj() T { return b.obj }

// In sets the namespace.
func (b *Builder[T]) In(namespace string) *Builder[T] {
	b.obj.SetNamespace(namespace)
	return b
}

// Annotated sets an annotation of the wrapper.
func (b *Builder[T]) Annotated(key, value string) *Builder[T] {
	all := b.obj.GetAnnotations()
	if all == nil {
		all = make(map[string]string)
	}
	all[key] = value
	b.obj.SetAnnotations(all)
	return b
}

// With adds objects.
func (b *Builder[T]) With(objects ...*unstructured.Unstructured) *Builder[T] {
	spec := b.obj.WrapperSpec()
	for _, obj := range objects {
		spec.Objects = append(spec.Objects, Raw(obj))
	}
	return b
}

// To adds members by name.
func (b *Builder[T]) To(members ...string) *Builder[T] {
	b.clusters().Names = append(b.clusters().Names, members...)
	return b
}

// ToMatching adds a selector of members: those that carry all of these labels, given as key, value, key, value. Without
// labels it selects every member. A second call adds a second selector, and a member needs to match only one of them.
func (b *Builder[T]) ToMatching(labels ...string) *Builder[T] {
	b.clusters().Selectors = append(b.clusters().Selectors, metav1.LabelSelector{MatchLabels: pairs(labels)})
	return b
}

func (b *Builder[T]) clusters() *v1alpha1.ClusterSelection {
	placement := &b.obj.WrapperSpec().Placement
	if placement.Clusters == nil {
		placement.Clusters = &v1alpha1.ClusterSelection{}
	}
	return placement.Clusters
}

// Overriding adds overrides.
func (b *Builder[T]) Overriding(list ...v1alpha1.Override) *Builder[T] {
	spec := b.obj.WrapperSpec()
	spec.Overrides = append(spec.Overrides, list...)
	return b
}

// OnDrift sets spec.drift.
func (b *Builder[T]) OnDrift(policy v1alpha1.DriftPolicy) *Builder[T] {
	b.obj.WrapperSpec().Drift = policy
	return b
}

// OnConflict sets spec.onConflict.
func (b *Builder[T]) OnConflict(policy v1alpha1.ConflictPolicy) *Builder[T] {
	b.obj.WrapperSpec().OnConflict = policy
	return b
}

// OnDelete sets spec.onDelete.
func (b *Builder[T]) OnDelete(policy v1alpha1.DeletionPolicy) *Builder[T] {
	b.obj.WrapperSpec().OnDelete = policy
	return b
}

// MaxRemoval sets spec.rollout.maxRemoval, a number or a percentage.
func (b *Builder[T]) MaxRemoval(limit string) *Builder[T] {
	b.obj.WrapperSpec().Rollout.MaxRemoval = new(intstr.Parse(limit))
	return b
}

// InWaves rolls changes out in these waves.
func (b *Builder[T]) InWaves(onFailure v1alpha1.FailurePolicy, waves ...v1alpha1.RolloutWave) *Builder[T] {
	b.obj.WrapperSpec().Rollout.Waves, b.obj.WrapperSpec().Rollout.OnFailure = waves, onFailure
	return b
}

// UpTo gives a Subscription of the wrapper a target CSV.
func (b *Builder[T]) UpTo(subscription, csv string) *Builder[T] {
	upgrade := &b.obj.WrapperSpec().Upgrade
	upgrade.Subscriptions = append(upgrade.Subscriptions, v1alpha1.SubscriptionUpgrade{Name: subscription, TargetCSV: csv})
	return b
}

// Wave is a wave of these members; without members it has all that are left.
func Wave(name string, members ...string) v1alpha1.RolloutWave {
	wave := v1alpha1.RolloutWave{Name: name}
	if len(members) > 0 {
		wave.Clusters = &v1alpha1.ClusterSelection{Names: members}
	}
	return wave
}

// Suspended sets spec.suspend to All.
func (b *Builder[T]) Suspended() *Builder[T] {
	b.obj.WrapperSpec().Suspend = v1alpha1.SuspendAll
	return b
}

// Override begins an override of objects of a kind; a name of "" means every one of them.
func Override(kind, name string) v1alpha1.Override {
	return v1alpha1.Override{Target: v1alpha1.OverrideTarget{Kind: kind, Name: name}}
}

// Patch is one operation with a value.
func Patch(op v1alpha1.PatchOp, path string, value any) v1alpha1.PatchOperation {
	return v1alpha1.PatchOperation{Op: op, Path: path, Value: JSON(value)}
}

// JSON returns a value in the form of API fields of any type.
func JSON(value any) *apiextensionsv1.JSON {
	return &apiextensionsv1.JSON{Raw: encode(value)}
}

// Raw returns an object in the form in which wrappers hold it.
func Raw(obj *unstructured.Unstructured) runtime.RawExtension {
	return runtime.RawExtension{Raw: encode(obj.Object)}
}

func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("building a test's object: %v", err)) // the test itself is wrong
	}
	return data
}

func pairs(keysAndValues []string) map[string]string {
	if len(keysAndValues)%2 != 0 {
		panic(fmt.Sprintf("building a test's object: %q is not key, value, key, value", keysAndValues))
	}
	all := make(map[string]string, len(keysAndValues)/2)
	for i := 0; i < len(keysAndValues); i += 2 {
		all[keysAndValues[i]] = keysAndValues[i+1]
	}
	return all
}
