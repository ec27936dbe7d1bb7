// SPDX-License-Identifier: Apache-2.0

package author

import (
	"errors"
	"fmt"
)

// maxFaults is the greatest number of faults of one input that hostctl describes. It only counts further faults.
const maxFaults = 50

// faults collects all errors of an input, so that one run of hostctl reports them together.
type faults struct {
	told []error
	more int
}

func (f *faults) add(err error) {
	switch {
	case err == nil:
	case len(f.told) == maxFaults:
		f.more++
	default:
		f.told = append(f.told, err)
	}
}

// err returns one error with all faults, a line each; nil if there are none.
func (f *faults) err() error {
	if f.more > 0 {
		return errors.Join(append(f.told, fmt.Errorf("and %d more faults", f.more))...)
	}
	return errors.Join(f.told...)
}

// fault is an error about a field. The caller adds the file and the document.
type fault struct {
	field fieldPath
	text  string
}

func (f *fault) Error() string {
	if len(f.field) == 0 {
		return f.text
	}
	return f.field.String() + ": " + f.text
}

func faultf(field fieldPath, format string, args ...any) error {
	return &fault{field: field, text: fmt.Sprintf(format, args...)}
}
