// SPDX-License-Identifier: Apache-2.0

package ask

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

// Terminal reports whether standard input is a terminal, so that a command can ask the user a question.
func Terminal(streams genericiooptions.IOStreams) bool {
	f, ok := streams.In.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Confirm asks a yes-or-no question and returns an error for any answer but yes. doing names the action, for example "unjoining
// eu-1". If standard input ends without an answer, the error begins with doing.
func Confirm(streams genericiooptions.IOStreams, doing, question string) error {
	return answered(streams, doing, question+" [y/N] ", func(answer string) bool {
		answer = strings.ToLower(answer)
		return answer == "y" || answer == "yes"
	})
}

// Type asks the user to type a word, and returns an error for any other answer. Use it for an action that a hasty "yes" must not
// start.
func Type(streams genericiooptions.IOStreams, doing, question, word string) error {
	return answered(streams, doing, question+" ", func(answer string) bool { return answer == word })
}

func answered(streams genericiooptions.IOStreams, doing, question string, isYes func(string) bool) error {
	_, _ = fmt.Fprint(streams.ErrOut, question)
	answer, err := line(streams.In)
	if isYes(strings.TrimSpace(answer)) {
		return nil
	}
	if err != nil && answer == "" {
		return exit.Usagef("%s: standard input ended before an answer, so nothing was done", doing)
	}
	return errors.New("nothing was done")
}

// line reads one line, byte by byte. It must not read more: the rest of the input has the answer to the next question.
func line(in io.Reader) (string, error) {
	var text []byte
	one := make([]byte, 1)
	for {
		n, err := in.Read(one)
		if n == 1 {
			if one[0] == '\n' {
				return string(text), nil
			}
			text = append(text, one[0])
		}
		if err != nil {
			return string(text), err
		}
	}
}
