// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"errors"
	"fmt"

	"github.com/fairlead-dev/fairlead/overrides/jsonpointer"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// Failure is an operation that cannot be carried out. The caller adds which operation it was.
type Failure struct {
	// Problem is the cause and the remedy.
	Problem string
	// Found is the value at the path, as JSON and shortened. It is empty if there is none, or if it is secret.
	Found string
	// TooCostly reports whether the operation is valid but exceeds the budget.
	TooCostly bool
}

// Error implements error.
func (f *Failure) Error() string { return f.Problem }

// IsTooCostly reports whether an error is a Failure that exceeds the budget.
func IsTooCostly(err error) bool {
	f := (*Failure)(nil)
	return errors.As(err, &f) && f.TooCostly
}

// endsBefore is the Failure of a path whose token at i does not exist.
func (d *Document) endsBefore(path jsonpointer.Pointer, i int) error {
	return &Failure{Problem: fmt.Sprintf("the path is not there, nor is %s; add that first", path[:i+1])}
}

// notContainer is the Failure of a path that goes on below a value that is neither an object nor a list. found is that
// value, at path[:i].
func (d *Document) notContainer(path jsonpointer.Pointer, i int, found any) error {
	return &Failure{
		Problem: fmt.Sprintf("%s is %s, neither an object nor a list", path[:i], d.show(found)),
		Found:   d.found(found),
	}
}

// itemAt is the index of an existing item.
func (d *Document) itemAt(path jsonpointer.Pointer, at int, list []any) (int, error) {
	i, ok := jsonpointer.ListIndex(path[at])
	switch {
	case !ok && path[at] == "-":
		return 0, &Failure{Problem: fmt.Sprintf(`"-" is the place after the last item of %s: only add, move and copy can go there`, path[:at])}
	case !ok:
		return 0, &Failure{Problem: fmt.Sprintf("%s is a list: %q is no index of it (0, 1, 2 …)", path[:at], path[at])}
	case i >= len(list):
		return 0, &Failure{Problem: fmt.Sprintf("the path is not there: the list %s has %s", path[:at], items(list))}
	}
	return i, nil
}

// insertAt is the index before which a new item goes.
func (d *Document) insertAt(path jsonpointer.Pointer, list []any) (int, error) {
	last := len(path) - 1
	if path[last] == "-" {
		return len(list), nil
	}
	i, ok := jsonpointer.ListIndex(path[last])
	switch {
	case !ok:
		return 0, &Failure{Problem: fmt.Sprintf(`%s is a list: %q is no index of it (0, 1, 2 … or "-" for its end)`, path[:last], path[last])}
	case i > len(list):
		return 0, &Failure{Problem: fmt.Sprintf(`the list %s has %s; "-" appends`, path[:last], items(list))}
	}
	return i, nil
}

func items(list []any) string {
	if len(list) == 1 {
		return "1 item"
	}
	return fmt.Sprintf("%d items", len(list))
}

// show returns a value as text for a sentence.
func (d *Document) show(value any) string {
	if d.secret {
		return "a value that is withheld (it is a Secret's)"
	}
	return strictjson.Excerpt(value)
}

// found returns a value for Failure.Found.
func (d *Document) found(value any) string {
	if d.secret {
		return ""
	}
	return strictjson.Excerpt(value)
}
