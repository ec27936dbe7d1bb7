// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"fmt"
	"strings"
)

// ErrTooCostly is wrapped by the errors that say that overrides take more work than they may.
var ErrTooCostly = errors.New("the overrides take too much work")

// None stands for Error.Operation where the trouble is not with one operation of a patch.
const None = -1

// Error is an override that cannot be applied. It says which operation of which override, on what,
// for whom, what was found there, and the way out.
type Error struct {
	// Override is the index in spec.overrides, Operation that in its patch, or None.
	Override, Operation int
	// Part is the part of the override where Operation is None: "merge", "target", "clusters".
	Part string
	// Doing says what was tried, as a gerund: "replacing /spec/replicas".
	Doing string
	// Path is the JSON pointer that it was tried on, where there is one.
	Path string
	// Object is kind and name, as in "Deployment web"; empty where no object is in question.
	Object string
	// Member is the name of the MemberCluster that was rendered for.
	Member string
	// Found is what stands at the path, as JSON and shortened; empty when nothing does, or when it
	// belongs to a Secret.
	Found string
	// Problem says what is wrong, and the way out.
	Problem string
	// TooCostly reports whether the override would work but takes more work than it may. The error then wraps ErrTooCostly.
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

// inWords is the error without its place.
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

// For is the same error for another member of the same variant.
func (e *Error) For(member string) *Error {
	other := *e
	other.Member = member
	return &other
}
