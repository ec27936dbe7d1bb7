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

// Error is an error with a code; with a nil Err there is nothing more to say than the code.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Usagef is the error of a command that was called in a way it can't be.
func Usagef(format string, args ...any) error {
	return &Error{Code: Usage, Err: fmt.Errorf(format, args...)}
}

// Silently ends the program with a code, and no words: they have been said.
func Silently(code int) error { return &Error{Code: code} }

// CodeOf is the code for the outcome of a command.
func CodeOf(err error) int {
	var e *Error
	switch {
	case err == nil:
		return Done
	case errors.As(err, &e):
		return e.Code
	}
	return Failed
}

// Silent says whether err has no words for the user.
func Silent(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Err == nil
}
