// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"fmt"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// newOperation reads an operation. Which members it may have is CEL's to say first; it is said again
// here because admission can be bypassed.
func newOperation(from *v1alpha1.PatchOperation) (operation, error) {
	op := operation{op: from.Op}
	if from.Op == "" {
		return op, errors.New("op: is missing: give add, remove, replace, move, copy or test")
	}
	var err error
	if op.path, err = parsePointer(from.Path); err != nil {
		return op, fmt.Errorf("path: %w", err)
	}
	switch from.Op {
	case v1alpha1.PatchMove, v1alpha1.PatchCopy:
		if op.from, err = parsePointer(from.From); err != nil {
			return op, fmt.Errorf("from: %w", err)
		}
	case v1alpha1.PatchAdd, v1alpha1.PatchReplace, v1alpha1.PatchTest:
		return op, op.readValue(from)
	case v1alpha1.PatchRemove:
	default:
		return op, fmt.Errorf("op: %q is none of add, remove, replace, move, copy and test", from.Op)
	}
	return op, nil
}

func (op *operation) readValue(from *v1alpha1.PatchOperation) (err error) {
	switch {
	case from.Op == v1alpha1.PatchTest && from.Value == nil && from.ValueFrom == nil:
		// API servers drop a null, and what is left is a test for it (RFC 6902, section 4.6).
	case (from.Value == nil) == (from.ValueFrom == nil):
		return fmt.Errorf("%s takes value or valueFrom, exactly one of them (a null counts as left out: to take a field away use remove)", from.Op)
	case from.ValueFrom != nil:
		if op.source, err = newSource(from.ValueFrom); err != nil {
			return fmt.Errorf("valueFrom: %w", err)
		}
	case len(from.Value.Raw) > 0: // without, it is a null
		if op.value, err = DecodeValue(from.Value.Raw); err != nil {
			return fmt.Errorf("value: %w", err)
		}
		op.size, op.depth = size(op.value), depthOf(op.value)
	}
	return nil
}

// failed puts an operation's trouble where it belongs.
func (op *operation) failed(override, index int, m selection.Member, err error) *Error {
	e := &Error{
		Override:  override,
		Operation: index,
		Doing:     op.doing(),
		Path:      op.path.String(),
		Member:    m.Name,
		Problem:   err.Error(),
	}
	if t := (*trouble)(nil); errors.As(err, &t) {
		e.Found, e.TooCostly = t.found, t.costly
	}
	return e
}

func (op *operation) doing() string {
	switch op.op {
	case v1alpha1.PatchAdd:
		return "adding " + op.path.String()
	case v1alpha1.PatchRemove:
		return "removing " + op.path.String()
	case v1alpha1.PatchReplace:
		return "replacing " + op.path.String()
	case v1alpha1.PatchMove:
		return "moving " + op.from.String() + " to " + op.path.String()
	case v1alpha1.PatchCopy:
		return "copying " + op.from.String() + " to " + op.path.String()
	default:
		return "testing " + op.path.String()
	}
}
