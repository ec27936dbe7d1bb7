// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// columns and rows are the size of the terminal.
const columns, rows = 80, 24

// colors matches the terminal sequence that sets colors.
var colors = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// Check runs a command on a terminal, on a terminal with NO_COLOR=1, and in a pipe. The function command returns the command for these
// streams, and the function accepts reports whether the command may end with this error. Check fails the test if a line on a terminal is
// wider than the terminal, if the first run has no colors, or if another one has.
func Check(t *testing.T, command func(genericiooptions.IOStreams) *cobra.Command, args []string, accepts func(error) bool) {
	t.Helper()
	run := func(t *testing.T, to *os.File) {
		t.Helper()
		cmd := command(genericiooptions.IOStreams{Out: to, ErrOut: to})
		cmd.SetArgs(args)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); !accepts(err) {
			t.Error(err)
		}
	}
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("NO_COLOR", "")
	t.Run("on a terminal", func(t *testing.T) {
		text := onTerminal(t, run)
		narrow(t, text)
		if !colors.MatchString(text) {
			t.Errorf("the output has no colors:\n%s", text)
		}
	})
	t.Run("on a terminal with NO_COLOR", func(t *testing.T) {
		t.Setenv("NO_COLOR", "1")
		text := onTerminal(t, run)
		narrow(t, text)
		plain(t, text)
	})
	t.Run("in a pipe", func(t *testing.T) {
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		plain(t, output(t, reader, writer, run))
	})
}

// narrow fails the test if a line is wider than the terminal.
func narrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(colors.ReplaceAllString(text, "")) {
		if n := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); n > columns {
			t.Errorf("a line has %d characters: %q", n, line)
		}
	}
}

// plain fails the test if a text has a terminal sequence, or is empty.
func plain(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, "\x1b") || text == "" {
		t.Errorf("want output without terminal sequences, got %q", text)
	}
}

// onTerminal returns what a command writes to a terminal.
func onTerminal(t *testing.T, run func(*testing.T, *os.File)) string {
	t.Helper()
	controller, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(controller.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns}); err != nil {
		t.Fatal(err)
	}
	return output(t, controller, terminal, run)
}

// output returns what a command writes to writer. It closes both ends. It reads while the command runs, because a pipe and a terminal have room
// for a few KiB only.
func output(t *testing.T, reader, writer *os.File, run func(*testing.T, *os.File)) string {
	t.Helper()
	read := make(chan string)
	go func() {
		text, _ := io.ReadAll(reader) // at the end a terminal returns the error EIO, and what was read before is complete
		read <- string(text)
	}()
	run(t, writer)
	if err := writer.Close(); err != nil {
		t.Error(err)
	}
	text := <-read
	_ = reader.Close() // it was only read
	return text
}
