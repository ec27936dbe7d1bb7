// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Wrapper is the common part of a Federated and a ClusterFederated.
//
// +kubebuilder:object:generate=false
type Wrapper interface {
	metav1.Object
	runtime.Object
	// WrapperKind is the kind. It is known even if the object's TypeMeta is empty.
	WrapperKind() WrapperKind
	// WrapperSpec is the spec, to read and to change.
	WrapperSpec() *WrapperSpec
	// WrapperStatus is the status, to read and to change.
	WrapperStatus() *WrapperStatus
}

// WrapperKind implements Wrapper.
func (*Federated) WrapperKind() WrapperKind { return KindFederated }

// WrapperSpec implements Wrapper.
func (f *Federated) WrapperSpec() *WrapperSpec { return &f.Spec }

// WrapperStatus implements Wrapper.
func (f *Federated) WrapperStatus() *WrapperStatus { return &f.Status }

// WrapperKind implements Wrapper.
func (*ClusterFederated) WrapperKind() WrapperKind { return KindClusterFederated }

// WrapperSpec implements Wrapper.
func (f *ClusterFederated) WrapperSpec() *WrapperSpec { return &f.Spec }

// WrapperStatus implements Wrapper.
func (f *ClusterFederated) WrapperStatus() *WrapperStatus { return &f.Status }

// Identity returns the identity of a wrapper in the form that Deliveries hold.
func Identity(w Wrapper) WrapperIdentity {
	return WrapperIdentity{
		Kind:       w.WrapperKind(),
		Namespace:  w.GetNamespace(),
		Name:       w.GetName(),
		UID:        w.GetUID(),
		Generation: w.GetGeneration(),
	}
}

// Beside is the namespace that holds a wrapper's revisions and Approvals on the host: the namespace of a Federated, or
// SystemNamespace for a ClusterFederated.
func (id WrapperIdentity) Beside() string {
	if id.Kind == KindClusterFederated {
		return SystemNamespace
	}
	return id.Namespace
}
