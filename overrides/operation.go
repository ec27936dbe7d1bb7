// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"fmt"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/jsonpatch"
	"github.com/fairlead-dev/fairlead/overrides/jsonpointer"
	"github.com/fairlead-dev/fairlead/overrides/selection"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// newOperation parses an operation. It repeats the checks of CEL, because a wrapper can have been stored without admission. If its error is about one
// field, the error begins with the name of the field.
func newOperation(from *v1alpha1.PatchOperation) (operation, error) {
	op := operation{Operation: jsonpatch.Operation{Op: from.Op}}
	if from.Op == "" {
		return op, errors.New("op: is missing; give add, remove, replace, move, copy or test")
	}
	var err error
	if op.Path, err = jsonpointer.Parse(from.Path); err != nil {
		return op, fmt.Errorf("path: %w", err)
	}
	switch from.Op {
	case v1alpha1.PatchMove, v1alpha1.PatchCopy:
		if op.From, err = jsonpointer.Parse(from.From); err != nil {
			return op, fmt.Errorf("from: %w", err)
		}
	case v1alpha1.PatchAdd, v1alpha1.PatchReplace, v1alpha1.PatchTest:
		return op, op.readValue(from)
	case v1alpha1.PatchRemove:
	default:
		return op, fmt.Errorf("op: %q is not add, remove, replace, move, copy or test", from.Op)
	}
	return op, nil
}

func (op *operation) readValue(from *v1alpha1.PatchOperation) (err error) {
	switch {
	case from.Op == v1alpha1.PatchTest && from.Value == nil && from.ValueFrom == nil:
		// An API server drops a null, so an operation with the value null arrives here without a value. So a test without a
		// value may be a test for null (RFC 6902, section 4.6).
	case (from.Value == nil) == (from.ValueFrom == nil):
		return fmt.Errorf("%s takes value or valueFrom, exactly one of them (null counts as no value; to remove a field, use op: remove)", from.Op)
	case from.ValueFrom != nil:
		if op.source, err = newSource(from.ValueFrom); err != nil {
			return fmt.Errorf("valueFrom: %w", err)
		}
	case len(from.Value.Raw) > 0: // an empty Raw means null
		value, err := strictjson.DecodeValue(from.Value.Raw)
		if err != nil {
			return fmt.Errorf("value: %w", err)
		}
		op.SetValue(value)
	}
	return nil
}

// failed returns the Error for this operation. override and index are the indexes of the override and of the operation, and err is the cause.
func (op *operation) failed(override, index int, m selection.Member, err error) *Error {
	e := &Error{
		Override:  override,
		Operation: index,
		Doing:     op.Doing(),
		Path:      op.Path.String(),
		Member:    m.Name,
		Problem:   err.Error(),
	}
	if t := (*jsonpatch.Failure)(nil); errors.As(err, &t) {
		e.Found, e.TooCostly = t.Found, t.TooCostly
	}
	return e
}
