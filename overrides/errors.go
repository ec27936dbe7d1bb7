// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"fmt"
	"strings"
)

// ErrTooCostly is wrapped by the error of a valid override that exceeds the work limit.
var ErrTooCostly = errors.New("the overrides take too much work")

// None is the value of Error.Operation if the error is not about one operation of a patch.
const None = -1

// Error is why Apply could not apply an override, or Compile could not parse it. Its text names the override, the operation, the object, the
// member, the cause and the remedy.
type Error struct {
	// Override is the index of the override in spec.overrides. Operation is the index of the operation in the override's
	// patch; None if the error is not about one operation.
	Override, Operation int
	// Part is set if Operation is None. It is the field of the override that failed: "merge", "target" or "clusters"; "" for
	// the override as a whole.
	Part string
	// Doing is what failed, as a gerund: "replacing /spec/replicas".
	Doing string
	// Path is the JSON pointer of the field in Doing; "" if there is no single field.
	Path string
	// Object is the object that could not be changed, for example "Deployment web"; "" if the error is not about one object.
	Object string
	// Member is the member for which Apply was called; "" in an error of Compile.
	Member string
	// Found is the value at Path as JSON, shortened. It is "" if there is no value, and for a Secret.
	Found string
	// Problem is the cause, and what the author can do.
	Problem string
	// TooCostly is true if the override is valid but exceeds the work limit. Unwrap then returns ErrTooCostly.
	TooCostly bool
}

// Unwrap returns ErrTooCostly if the override exceeds the work limit, and otherwise nil.
func (e *Error) Unwrap() error {
	if e.TooCostly {
		return ErrTooCostly
	}
	return nil
}

// Field returns the place of the error below spec, for example overrides[2].patch[0].
func (e *Error) Field() string {
	at := fmt.Sprintf("overrides[%d]", e.Override)
	switch {
	case e.Operation != None:
		return fmt.Sprintf("%s.patch[%d]", at, e.Operation)
	case e.Part != "":
		return at + "." + e.Part
	}
	return at
}

// Error returns the path of the override and what failed, for example "overrides[0].patch[0]: replacing /spec/replicas
// of Deployment web for member east: …".
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Field())
	b.WriteString(": ")
	b.WriteString(e.inWords())
	return b.String()
}

// inWords returns the text of Error without the result of Field.
func (e *Error) inWords() string {
	var b strings.Builder
	b.WriteString(e.Doing)
	if e.Object != "" {
		b.WriteString(" of ")
		b.WriteString(e.Object)
	}
	if e.Member != "" {
		b.WriteString(" for member ")
		b.WriteString(e.Member)
	}
	b.WriteString(": ")
	b.WriteString(e.Problem)
	return b.String()
}

// For returns the same error with the name of another member. The other member has to be of the same variant: then the same override fails
// for it.
func (e *Error) For(member string) *Error {
	other := *e
	other.Member = member
	return &other
}
