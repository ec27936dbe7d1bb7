// SPDX-License-Identifier: Apache-2.0

package exit

import (
	"errors"
	"fmt"
)

// Codes of hostctl.
const (
	Done    = 0
	Failed  = 1
	Usage   = 2
	Differs = 3
	Waits   = 4
)

// CodedError is an error with an exit code. With a nil Err hostctl prints nothing and only exits with the code.
type CodedError struct {
	Code int
	Err  error
}

func (e *CodedError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *CodedError) Unwrap() error { return e.Err }

// Usagef returns the error of a command that was called with wrong flags or arguments.
func Usagef(format string, args ...any) error {
	return &CodedError{Code: Usage, Err: fmt.Errorf(format, args...)}
}

// Silently returns an error that ends the program with a code and prints nothing. The command has printed its result already.
func Silently(code int) error { return &CodedError{Code: code} }

// CodeOf returns the exit code for the error of a command.
func CodeOf(err error) int {
	var e *CodedError
	switch {
	case err == nil:
		return Done
	case errors.As(err, &e):
		return e.Code
	}
	return Failed
}

// Silent reports whether err has no message for the user.
func Silent(err error) bool {
	var e *CodedError
	return errors.As(err, &e) && e.Err == nil
}
