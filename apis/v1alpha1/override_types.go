// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Override changes objects for some members, by a patch or by a merge.
//
// +kubebuilder:validation:XValidation:rule="has(self.patch) != has(self.merge)",message="give patch or merge, exactly one of them"
type Override struct {
	// clusters selects the members that the override applies to. If it is absent, the override applies to all.
	// +optional
	Clusters *ClusterSelection `json:"clusters,omitempty"`

	// target selects the objects of the wrapper that the override changes. A target that matches no object is an error.
	// +required
	Target OverrideTarget `json:"target,omitzero"`

	// patch is a list of JSON patch operations (RFC 6902). `add` below metadata.labels or metadata.annotations creates
	// the map if it is missing.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Patch []PatchOperation `json:"patch,omitempty"`

	// merge is merged into the object: a strategic merge for the built-in kinds that have one, otherwise a JSON merge
	// patch (RFC 7386). To remove a field use patch, because kubectl and kustomize drop nulls.
	// +optional
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	Merge *apiextensionsv1.JSON `json:"merge,omitempty"`
}

// OverrideTarget matches objects of the wrapper.
type OverrideTarget struct {
	// group is the API group of the kind, "" for the core group. It is needed only if the wrapper holds two kinds of
	// the same name from different groups.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=253
	Group *string `json:"group,omitempty"`

	// kind is the kind of the objects, as in PersistentVolumeClaim.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`

	// name is the object's name. If it is absent, the target is every object of the kind.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// PatchOperation is one operation of a JSON patch, RFC 6902.
//
// +kubebuilder:validation:XValidation:rule="!has(self.valueFrom) || self.op in ['add', 'replace', 'test']",message="valueFrom belongs to add, replace and test; remove, move and copy take no value"
// +kubebuilder:validation:XValidation:rule="(self.op in ['move', 'copy']) == has(self.from)",message="from belongs to move and copy, and these need it"
type PatchOperation struct {
	// op is the operation.
	// +required
	// +kubebuilder:validation:Enum=add;remove;replace;move;copy;test
	Op PatchOp `json:"op,omitempty"`

	// path is a JSON pointer (RFC 6901) into the object: /spec/storageClassName. A slash in a key is
	// written ~1, a tilde ~0.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="path is a JSON pointer and begins with a slash: /spec/replicas"
	Path string `json:"path,omitempty"`

	// from is the JSON pointer that move and copy take the value from.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.startsWith('/')",message="from is a JSON pointer and begins with a slash: /spec/replicas"
	From string `json:"from,omitempty"`

	// value is the value to add, to replace with or to test for: any JSON. An operation has either value or valueFrom.
	// A test without either tests for null.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`

	// valueFrom takes the value, always a string, from the MemberCluster.
	// +optional
	ValueFrom *ValueSource `json:"valueFrom,omitempty"`
}

// PatchOp is an operation of RFC 6902.
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

// ValueSource takes a value from the MemberCluster that the objects are rendered for.
//
// +kubebuilder:validation:MinProperties=0
// +kubebuilder:validation:XValidation:rule="has(self.fieldPath)",message="valueFrom needs fieldPath: metadata.name or metadata.labels['KEY']"
// +kubebuilder:validation:XValidation:rule="!(has(self.default) && has(self.whenMissing))",message="give default or whenMissing, not both: the default is used when the label is missing"
type ValueSource struct {
	// fieldPath is metadata.name or metadata.labels['KEY'] of the MemberCluster.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=340
	// +kubebuilder:validation:XValidation:rule="self == 'metadata.name' || self.matches('^metadata\\\\.labels\\\\[\\'[^\\']+\\'\\\\]$')",message="fieldPath is metadata.name or metadata.labels['KEY']"
	FieldPath string `json:"fieldPath,omitempty"`

	// default is the value if the member has no such label.
	// +optional
	// +kubebuilder:validation:MinLength=0
	// +kubebuilder:validation:MaxLength=1024
	Default *string `json:"default,omitempty"`

	// whenMissing selects what happens if the member has no such label and there is no default. Fail refuses the
	// rendering for the member. Skip leaves this operation out. Defaults to Fail.
	// +optional
	// +kubebuilder:validation:Enum=Fail;Skip
	WhenMissing MissingPolicy `json:"whenMissing,omitempty"`
}

// MissingPolicy is the policy for a missing value.
type MissingPolicy string

// The policies for missing values.
const (
	MissingFail MissingPolicy = "Fail"
	MissingSkip MissingPolicy = "Skip"
)
