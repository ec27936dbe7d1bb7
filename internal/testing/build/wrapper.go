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

// ClientWrapper is a Federated or a ClusterFederated that controller-runtime's client accepts.
type ClientWrapper interface {
	client.Object
	v1alpha1.Wrapper
}

// Builder builds a wrapper of type T, which is *v1alpha1.Federated or *v1alpha1.ClusterFederated.
//
// It has more methods than other types, because it has one for each part of the spec that tests set. They return the Builder, so that a
// test can chain them.
type Builder[T ClientWrapper] struct{ obj T }

// Federated begins a Federated with this name, without a placement.
func Federated(name string) *Builder[*v1alpha1.Federated] {
	return &Builder[*v1alpha1.Federated]{obj: &v1alpha1.Federated{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: string(v1alpha1.KindFederated)},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}}
}

// ClusterFederated begins a ClusterFederated with this name, without a placement.
func ClusterFederated(name string) *Builder[*v1alpha1.ClusterFederated] {
	return &Builder[*v1alpha1.ClusterFederated]{obj: &v1alpha1.ClusterFederated{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: string(v1alpha1.KindClusterFederated)},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}}
}

// Obj returns the wrapper.
func (b *Builder[T]) Obj() T { return b.obj }

// In sets the namespace of the wrapper.
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

// With adds objects to spec.objects.
func (b *Builder[T]) With(objects ...*unstructured.Unstructured) *Builder[T] {
	spec := b.obj.WrapperSpec()
	for _, obj := range objects {
		spec.Objects = append(spec.Objects, Raw(obj))
	}
	return b
}

// To adds members to the placement, by name.
func (b *Builder[T]) To(members ...string) *Builder[T] {
	b.clusters().Names = append(b.clusters().Names, members...)
	return b
}

// ToMatching adds a selector to the placement. It selects the members that carry all of these labels, given as key,
// value, key, value. Without labels it selects every member. Each further call adds a selector, and a member needs to
// match only one.
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

// Overriding adds overrides to spec.overrides.
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

// MaxRemoval sets spec.rollout.maxRemoval to a number or a percentage, for example "2" or "30%".
func (b *Builder[T]) MaxRemoval(limit string) *Builder[T] {
	b.obj.WrapperSpec().Rollout.MaxRemoval = new(intstr.Parse(limit))
	return b
}

// InWaves sets spec.rollout.waves and spec.rollout.onFailure.
func (b *Builder[T]) InWaves(onFailure v1alpha1.FailurePolicy, waves ...v1alpha1.RolloutWave) *Builder[T] {
	b.obj.WrapperSpec().Rollout.Waves, b.obj.WrapperSpec().Rollout.OnFailure = waves, onFailure
	return b
}

// UpTo adds a Subscription to spec.upgrade, with a targetCSV.
func (b *Builder[T]) UpTo(subscription, csv string) *Builder[T] {
	upgrade := &b.obj.WrapperSpec().Upgrade
	upgrade.Subscriptions = append(upgrade.Subscriptions, v1alpha1.SubscriptionUpgrade{Name: subscription, TargetCSV: csv})
	return b
}

// Latest adds a Subscription to spec.upgrade, with approve: Latest.
func (b *Builder[T]) Latest(subscription string) *Builder[T] {
	upgrade := &b.obj.WrapperSpec().Upgrade
	upgrade.Subscriptions = append(upgrade.Subscriptions, v1alpha1.SubscriptionUpgrade{Name: subscription, Approve: v1alpha1.ApproveLatest})
	return b
}

// Wave returns a wave that selects these members by name. Without names, it selects every member that no earlier wave
// selects.
func Wave(name string, members ...string) v1alpha1.RolloutWave {
	wave := v1alpha1.RolloutWave{Name: name}
	if len(members) > 0 {
		wave.Clusters = &v1alpha1.ClusterSelection{Names: members}
	}
	return wave
}

// ManualWave returns a wave as Wave does, which begins after an approval.
func ManualWave(name string, members ...string) v1alpha1.RolloutWave {
	wave := Wave(name, members...)
	wave.Approval = v1alpha1.WaveManual
	return wave
}

// Suspended sets spec.suspend to All.
func (b *Builder[T]) Suspended() *Builder[T] {
	b.obj.WrapperSpec().Suspend = v1alpha1.SuspendAll
	return b
}

// Override begins an override of the object with this kind and name. With name "", it is an override of every object of
// the kind.
func Override(kind, name string) v1alpha1.Override {
	return v1alpha1.Override{Target: v1alpha1.OverrideTarget{Kind: kind, Name: name}}
}

// Patch returns one operation of an override's patch.
func Patch(op v1alpha1.PatchOp, path string, value any) v1alpha1.PatchOperation {
	return v1alpha1.PatchOperation{Op: op, Path: path, Value: JSON(value)}
}

// JSON encodes a value for an API field that holds any JSON.
func JSON(value any) *apiextensionsv1.JSON {
	return &apiextensionsv1.JSON{Raw: encode(value)}
}

// Raw encodes an object for spec.objects of a wrapper.
func Raw(obj *unstructured.Unstructured) runtime.RawExtension {
	return runtime.RawExtension{Raw: encode(obj.Object)}
}

func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("building a test's object: %v", err)) // the test passes a value that JSON cannot encode
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
