// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/jsonpointer"
)

// Reserved returns an error for an object that no wrapper may have, whatever permissions its author has: Fairlead's own objects, system namespaces,
// and objects with a label by which a member's administrator gives Fairlead permissions. The error begins with the JSON pointer of
// the field that makes the object reserved. Admission, rendering and push each call Reserved.
func Reserved(obj *unstructured.Unstructured) error {
	if r := reserved(obj); r != nil {
		return fmt.Errorf("%s: %s", r.path, r.why)
	}
	return nil
}

// IsSystemNamespace reports whether Fairlead writes no objects into this namespace, on any member and under any namespacePolicy.
func IsSystemNamespace(name string) bool {
	return name == v1alpha1.SystemNamespace || strings.HasPrefix(name, "kube-")
}

const (
	whyOwn    = "a wrapper cannot contain Fairlead's own objects: `hostctl join` installs what a member needs"
	whySystem = "kube-* namespaces are Kubernetes' own and " + v1alpha1.SystemNamespace + " is Fairlead's"
)

// reservedLabels are labels that no object of a wrapper may have.
var reservedLabels = []protection{
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelAggregateToHost},
		"this label would give Fairlead more permissions on the member; only the member's administrator may set it, on the member itself"},
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelAggregateToCollector},
		"this label would let Fairlead read more on the member; only the member's administrator may set it, on the member itself"},
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelOpen},
		"this label opens a namespace to Fairlead, and only the member's administrator may set it: remove the label"},
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelMade},
		"the manager sets this label when it creates a namespace: remove the label"},
}

// reservedNames are the kinds of which Fairlead has objects whose names are fairlead or begin with fairlead-. OpenShift serves the RBAC kinds under a
// second API group, too.
var reservedNames = map[schema.GroupKind]bool{
	{Kind: "ServiceAccount"}:                                                          true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}:                         true,
	{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding"}:                  true,
	{Group: "rbac.authorization.k8s.io", Kind: "Role"}:                                true,
	{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding"}:                         true,
	{Group: "authorization.openshift.io", Kind: "ClusterRole"}:                        true,
	{Group: "authorization.openshift.io", Kind: "ClusterRoleBinding"}:                 true,
	{Group: "authorization.openshift.io", Kind: "Role"}:                               true,
	{Group: "authorization.openshift.io", Kind: "RoleBinding"}:                        true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}:        true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicyBinding"}: true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicy"}:          true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:   true,
	{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"}:     true,
}

// reservations are the rules that make an object reserved. A rule returns nil if it does not concern the object.
var reservations = []func(*unstructured.Unstructured) *protection{
	ofOurGroup, servingOurGroup, calledLikeOurs, systemNamespace, withReservedLabel,
}

// reserved returns the field that makes an object reserved and the reason, or nil. The object can be malformed.
func reserved(obj *unstructured.Unstructured) *protection {
	for _, rule := range reservations {
		if r := rule(obj); r != nil {
			return r
		}
	}
	return nil
}

func ofOurGroup(obj *unstructured.Unstructured) *protection {
	if obj.GroupVersionKind().Group != v1alpha1.Group {
		return nil
	}
	return &protection{jsonpointer.Pointer{"apiVersion"}, "Fairlead's own kinds are not federated: create them on the host itself"}
}

// servingOurGroup concerns the CRDs and APIServices of Fairlead's API group: these decide which server serves the group. Kubernetes requires that
// their names end in the group.
func servingOurGroup(obj *unstructured.Unstructured) *protection {
	if kind := obj.GetKind(); kind != "CustomResourceDefinition" && kind != "APIService" {
		return nil
	}
	if strings.HasSuffix(nameOf(obj), "."+v1alpha1.Group) {
		return &protection{jsonpointer.Pointer{"metadata", "name"}, whyOwn}
	}
	if group, _ := (jsonpointer.Pointer{"spec", "group"}).Lookup(obj.Object); group == v1alpha1.Group {
		return &protection{jsonpointer.Pointer{"spec", "group"}, whyOwn}
	}
	return nil
}

func calledLikeOurs(obj *unstructured.Unstructured) *protection {
	name := nameOf(obj)
	if !reservedNames[obj.GroupVersionKind().GroupKind()] || name != "fairlead" && !strings.HasPrefix(name, "fairlead-") {
		return nil
	}
	return &protection{jsonpointer.Pointer{"metadata", "name"}, whyOwn + "; rename yours"}
}

func systemNamespace(obj *unstructured.Unstructured) *protection {
	if obj.GroupVersionKind().GroupKind() != (schema.GroupKind{Kind: "Namespace"}) || !IsSystemNamespace(nameOf(obj)) {
		return nil
	}
	return &protection{jsonpointer.Pointer{"metadata", "name"}, whySystem}
}

func withReservedLabel(obj *unstructured.Unstructured) *protection {
	i := slices.IndexFunc(reservedLabels, func(l protection) bool {
		value, _ := l.path.Lookup(obj.Object)
		return value != nil
	})
	if i < 0 {
		return nil
	}
	return &reservedLabels[i]
}

func nameOf(obj *unstructured.Unstructured) string {
	name, _ := (jsonpointer.Pointer{"metadata", "name"}).Lookup(obj.Object)
	text, _ := name.(string)
	return text
}
