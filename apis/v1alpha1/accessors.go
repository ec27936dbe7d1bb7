// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Wrapper is what a Federated and a ClusterFederated have in common, so that one function can serve both kinds.
//
// +kubebuilder:object:generate=false
type Wrapper interface {
	metav1.Object
	runtime.Object
	// WrapperKind returns Federated or ClusterFederated. It does not need the TypeMeta, which a typed client leaves empty.
	WrapperKind() WrapperKind
	// WrapperSpec returns a pointer to the spec of the wrapper, not a copy.
	WrapperSpec() *WrapperSpec
	// WrapperStatus returns a pointer to the status of the wrapper, not a copy.
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

// Identity returns the identity of a wrapper as the manager writes it to spec.wrapper of a Delivery.
func Identity(w Wrapper) WrapperIdentity {
	return WrapperIdentity{
		Kind:       w.WrapperKind(),
		Namespace:  w.GetNamespace(),
		Name:       w.GetName(),
		UID:        w.GetUID(),
		Generation: w.GetGeneration(),
	}
}

// Beside returns the namespace of the host that holds the ControllerRevisions and the Approvals of a wrapper: the
// namespace of a Federated, or SystemNamespace for a ClusterFederated.
func (id WrapperIdentity) Beside() string {
	if id.Kind == KindClusterFederated {
		return SystemNamespace
	}
	return id.Namespace
}
