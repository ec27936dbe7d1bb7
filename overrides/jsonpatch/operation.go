// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/jsonpointer"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// Operation is one parsed operation of a JSON patch.
type Operation struct {
	Op         v1alpha1.PatchOp
	Path, From jsonpointer.Pointer
	// Value is the value of add, replace or test. Set it with SetValue, which also measures it.
	Value any
	size  int // the size of Value in memory, in bytes
	depth int // the nesting depth of Value
}

// SetValue sets Value, and measures the value's size and depth, which the budget needs.
func (op *Operation) SetValue(value any) {
	op.Value, op.size, op.depth = value, Size(value), strictjson.DepthOf(value)
}

// Doing returns what the operation does, as a gerund: "replacing /spec/replicas".
func (op *Operation) Doing() string {
	switch op.Op {
	case v1alpha1.PatchAdd:
		return "adding " + op.Path.String()
	case v1alpha1.PatchRemove:
		return "removing " + op.Path.String()
	case v1alpha1.PatchReplace:
		return "replacing " + op.Path.String()
	case v1alpha1.PatchMove:
		return "moving " + op.From.String() + " to " + op.Path.String()
	case v1alpha1.PatchCopy:
		return "copying " + op.From.String() + " to " + op.Path.String()
	default:
		return "testing " + op.Path.String()
	}
}
