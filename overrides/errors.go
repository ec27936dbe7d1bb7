// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"fmt"
	"strings"
)

// ErrTooCostly is the cause of errors about overrides that exceed the work limit.
var ErrTooCostly = errors.New("the overrides take too much work")

// None is the Error.Operation of an error that concerns no single operation of a patch.
const None = -1

// Error reports an override that cannot be applied. It names the override and the operation, the object, the member,
// the value found there, and the remedy.
type Error struct {
	// Override is the index in spec.overrides, Operation the index in its patch, or None.
	Override, Operation int
	// Part is the part of the override, if Operation is None: "merge", "target", "clusters".
	Part string
	// Doing is the action as a gerund: "replacing /spec/replicas".
	Doing string
	// Path is the JSON pointer of the action, if it has one.
	Path string
	// Object is kind and name, as in "Deployment web"; empty if the error concerns no object.
	Object string
	// Member is the name of the MemberCluster for which Apply rendered.
	Member string
	// Found is the value at the path, as JSON and shortened. It is empty if there is none, or if it belongs to a
	// Secret.
	Found string
	// Problem is the cause and the remedy.
	Problem string
	// TooCostly reports whether the override is valid but exceeds the work limit. The error then wraps ErrTooCostly.
	TooCostly bool
}

// Unwrap lets errors.Is find ErrTooCostly.
func (e *Error) Unwrap() error {
	if e.TooCostly {
		return ErrTooCostly
	}
	return nil
}

// Field is the place in the wrapper's spec: overrides[2].patch[0].
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

// Error implements error.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Field())
	b.WriteString(": ")
	b.WriteString(e.inWords())
	return b.String()
}

// inWords is the text of the error without its place.
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

// For returns the same error for another member of the same variant.
func (e *Error) For(member string) *Error {
	other := *e
	other.Member = member
	return &other
}
