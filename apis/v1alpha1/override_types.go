// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Override changes objects of the wrapper for some members, with either a patch or a merge.
//
// +kubebuilder:validation:XValidation:rule="has(self.patch) != has(self.merge)",message="give patch or merge, exactly one of them"
type Override struct {
	// clusters selects the members for which the override changes the objects. If it is absent, the override applies to
	// all members.
	// +optional
	Clusters *ClusterSelection `json:"clusters,omitempty"`

	// target selects the objects of the wrapper that the override changes. A target that matches no object of the wrapper
	// is an error.
	// +required
	Target OverrideTarget `json:"target,omitzero"`

	// patch is a list of JSON patch operations (RFC 6902), applied in this order. Unlike RFC 6902, `add` below
	// metadata.labels or metadata.annotations creates the map if it is missing. Give either patch or merge.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Patch []PatchOperation `json:"patch,omitempty"`

	// merge is an object with the fields to change, for example spec: {replicas: 2}. For a built-in kind with a strategic
	// merge patch, the manager applies merge as such a patch. For all other kinds, it applies merge as a JSON merge patch
	// (RFC 7386). To remove a field, use patch: a merge would need a null, and kubectl and kustomize drop nulls. Give either
	// patch or merge.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Merge *apiextensionsv1.JSON `json:"merge,omitempty"`
}

// OverrideTarget selects objects of the wrapper.
type OverrideTarget struct {
	// group is the API group of the kind, for example apps; "" is the core group. You need it only if the wrapper has two
	// kinds of the same name from different groups. If it is absent, any group matches.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=253
	Group *string `json:"group,omitempty"`

	// kind is the kind of the objects, for example PersistentVolumeClaim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// name is the metadata.name of the object to change. If it is absent, the override changes every object of the kind.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// PatchOperation is one operation of a JSON patch (RFC 6902).
//
// +kubebuilder:validation:XValidation:rule="!has(self.valueFrom) || self.op in ['add', 'replace', 'test']",message="valueFrom belongs to add, replace and test; remove, move and copy take no value"
// +kubebuilder:validation:XValidation:rule="(self.op in ['move', 'copy']) == has(self.from)",message="from belongs to move and copy, and these need it"
type PatchOperation struct {
	// op is the operation: add, remove, replace, move, copy or test. If a test fails, the manager renders nothing for the
	// member, and the member keeps the objects that it has.
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace;move;copy;test
	Op PatchOp `json:"op,omitempty"`

	// path is a JSON pointer (RFC 6901) to the field in the object, for example /spec/storageClassName. In a key, write ~1
	// for a slash and ~0 for a tilde, for example /metadata/labels/example.com~1tier.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="path is a JSON pointer and begins with a slash: /spec/replicas"
	Path string `json:"path,omitempty"`

	// from is the JSON pointer of the value that move and copy use. The other operations must leave it out.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="from is a JSON pointer and begins with a slash: /spec/replicas"
	From string `json:"from,omitempty"`

	// value is any JSON value. add and replace write it, and test compares the field with it. An operation cannot have both
	// value and valueFrom. add and replace need one of the two. A test with neither compares the field with null.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`

	// valueFrom takes the value from the name or a label of the MemberCluster. The value is always a string.
	// +optional
	ValueFrom *ValueSource `json:"valueFrom,omitempty"`
}

// PatchOp is an operation of a JSON patch (RFC 6902).
type PatchOp string

// The operations of RFC 6902, section 4.
const (
	PatchAdd     PatchOp = "add"
	PatchRemove  PatchOp = "remove"
	PatchReplace PatchOp = "replace"
	PatchMove    PatchOp = "move"
	PatchCopy    PatchOp = "copy"
	PatchTest    PatchOp = "test"
)

// ValueSource takes a value from the MemberCluster of the member for which the manager renders the objects.
//
// +kubebuilder:validation:MinProperties=0
// +kubebuilder:validation:XValidation:rule="has(self.fieldPath)",message="valueFrom needs fieldPath: metadata.name or metadata.labels['KEY']"
// +kubebuilder:validation:XValidation:rule="!(has(self.default) && has(self.whenMissing))",message="give default or whenMissing, not both: the default is used when the label is missing"
type ValueSource struct {
	// fieldPath is metadata.name or metadata.labels['KEY'] of the MemberCluster, for example metadata.labels['region'].
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=340
	// +kubebuilder:validation:XValidation:rule="self == 'metadata.name' || self.matches('^metadata\\\\.labels\\\\[\\'[^\\']+\\'\\\\]$')",message="fieldPath is metadata.name or metadata.labels['KEY']"
	FieldPath string `json:"fieldPath,omitempty"`

	// default is the value if the MemberCluster does not have the label in fieldPath. "" is a valid default. If default is
	// absent, whenMissing decides.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=1024
	Default *string `json:"default,omitempty"`

	// whenMissing selects what happens if the MemberCluster does not have the label in fieldPath, and default is absent.
	// Defaults to Fail.
	// - Fail: the manager renders nothing for the member, and the member keeps the objects that it has.
	// - Skip: the manager leaves out this operation.
	// +optional
	// +kubebuilder:validation:Enum=Fail;Skip
	WhenMissing MissingPolicy `json:"whenMissing,omitempty"`
}

// MissingPolicy is the type of ValueSource.WhenMissing.
type MissingPolicy string

// The values of MissingPolicy. ValueSource.WhenMissing explains them.
const (
	MissingFail MissingPolicy = "Fail"
	MissingSkip MissingPolicy = "Skip"
)
