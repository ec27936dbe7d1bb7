// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"errors"
	"fmt"

	"github.com/fairlead-dev/fairlead/overrides/jsonpointer"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// Failure is why an operation cannot be applied. The caller adds which operation it was.
type Failure struct {
	// Problem is the cause, and what the author can do.
	Problem string
	// Found is the value at the path as JSON, shortened. It is "" if there is no value, and for a Secret.
	Found string
	// TooCostly is true if the operation is valid but exceeds the budget.
	TooCostly bool
}

// Error returns Problem.
func (f *Failure) Error() string { return f.Problem }

// IsTooCostly reports whether an error is a Failure because the budget was exceeded.
func IsTooCostly(err error) bool {
	f := (*Failure)(nil)
	return errors.As(err, &f) && f.TooCostly
}

// endsBefore returns the Failure of an operation whose path does not exist, because the object has no value at
// path[:i+1].
func endsBefore(path jsonpointer.Pointer, i int) error {
	return &Failure{Problem: fmt.Sprintf("the path does not exist, because %s is missing: add that first", path[:i+1])}
}

// itemAt returns the list index in path[at]. It returns a Failure if the list has no such item.
func itemAt(path jsonpointer.Pointer, at int, list []any) (int, error) {
	i, ok := jsonpointer.ListIndex(path[at])
	switch {
	case !ok && path[at] == "-":
		return 0, &Failure{Problem: fmt.Sprintf(`"-" is the place after the last item of %s: only add, move and copy can go there`, path[:at])}
	case !ok:
		return 0, &Failure{Problem: fmt.Sprintf("%s is a list, and %q is not an index (0, 1, 2 …)", path[:at], path[at])}
	case i >= len(list):
		return 0, &Failure{Problem: fmt.Sprintf("the path does not exist: the list %s has %s", path[:at], items(list))}
	}
	return i, nil
}

// insertAt returns the list index at which add inserts an item. The token "-" is the end of the list.
func insertAt(path jsonpointer.Pointer, list []any) (int, error) {
	last := len(path) - 1
	if path[last] == "-" {
		return len(list), nil
	}
	i, ok := jsonpointer.ListIndex(path[last])
	switch {
	case !ok:
		return 0, &Failure{Problem: fmt.Sprintf(`%s is a list, and %q is not an index (0, 1, 2 … or "-" for the end)`, path[:last], path[last])}
	case i > len(list):
		return 0, &Failure{Problem: fmt.Sprintf(`the index is too large: the list %s has %s; "-" appends an item`, path[:last], items(list))}
	}
	return i, nil
}

func items(list []any) string {
	if len(list) == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", len(list))
}

// excerpts shows values of one object in a Failure, shortened. If the object is a Secret, no Failure has a value of it.
type excerpts struct{ secret bool }

// show returns a value as text for a message. For a Secret it returns a text without the value.
func (e excerpts) show(value any) string {
	if e.secret {
		return "a value that is not shown (it is in a Secret)"
	}
	return strictjson.Excerpt(value)
}

// found returns a value as text for Failure.Found. For a Secret it returns "".
func (e excerpts) found(value any) string {
	if e.secret {
		return ""
	}
	return strictjson.Excerpt(value)
}

// notContainer returns the Failure of an operation whose path goes on below a scalar. found is the scalar, and path[:i] its path.
func (e excerpts) notContainer(path jsonpointer.Pointer, i int, found any) error {
	return &Failure{
		Problem: fmt.Sprintf("%s is %s, neither an object nor a list", path[:i], e.show(found)),
		Found:   e.found(found),
	}
}
