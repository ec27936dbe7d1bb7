// SPDX-License-Identifier: Apache-2.0

package exit

import (
	"errors"
	"fmt"
)

// These are the exit codes of hostctl. The package comment tells what they mean.
const (
	Done    = 0
	Failed  = 1
	Usage   = 2
	Differs = 3
	Waits   = 4
)

// CodedError is an error with an exit code. If Err is nil, hostctl prints nothing and exits with the code.
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

// Usagef returns an error with code Usage, for wrong flags or arguments.
func Usagef(format string, args ...any) error {
	return &CodedError{Code: Usage, Err: fmt.Errorf(format, args...)}
}

// Silently returns an error with a code and without a message. A command returns it when its output already tells the user everything.
func Silently(code int) error { return &CodedError{Code: code} }

// CodeOf returns the exit code for an error of a command. nil gives Done, and an error without a code gives Failed.
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

// Silent reports whether an error has only an exit code, and no message for the user.
func Silent(err error) bool {
	var e *CodedError
	return errors.As(err, &e) && e.Err == nil
}
