// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

// Terminal reports whether standard input is a terminal, so that the user can answer a question.
func Terminal(streams genericiooptions.IOStreams) bool {
	f, ok := streams.In.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Confirm asks a yes-or-no question and returns an error for any answer but yes. The error begins with doing, the action that the
// question is about, as in "unjoining eu-1".
func Confirm(streams genericiooptions.IOStreams, doing, question string) error {
	_, _ = fmt.Fprintf(streams.ErrOut, "%s [y/N] ", question)
	answer, err := bufio.NewReader(streams.In).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	if err != nil && answer == "" {
		return exit.Usagef("%s: no answer was given: nothing was done", doing)
	}
	return errors.New("nothing was done")
}
