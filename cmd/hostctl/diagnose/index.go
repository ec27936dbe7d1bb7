// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/describe"
)

// summary adds what `hostctl describe` shows for the first of these wrappers that are not healthy. If always is true, it adds the
// text for healthy wrappers too.
func (c *collection) summary(ctx context.Context, wrappers []v1alpha1.Wrapper, now time.Time, always bool) error {
	if len(wrappers) == 0 {
		return nil
	}
	var text strings.Builder
	described, more, complete := 0, 0, false
	err := c.part(ctx, "the evidence for the summary", func() error {
		for _, w := range wrappers {
			troubled, err := describe.Troubled(w)
			if err != nil {
				return err
			}
			if !troubled && !always {
				continue
			}
			if described == c.limits.Summaries {
				more++
				continue
			}
			described++
			one, err := describe.Text(ctx, redacting{c.host}, w, now)
			if err != nil {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			fmt.Fprintf(&text, "%s\n%s\n", c.redaction.text(one), strings.Repeat("-", 80))
		}
		complete = true
		return nil
	})
	if err != nil {
		return err
	}
	if more > 0 {
		c.cutf("summary.txt: %d more wrappers are not healthy", more)
	}
	if described == 0 && complete {
		text.WriteString("No wrapper in this archive has a problem.\n")
	}
	return c.archive.add("summary.txt", []byte(text.String()))
}

// heading is what the index tells first.
type heading struct {
	scope, version string // what the command is about, and the version of hostctl
	// kubernetes and images are the versions of the host and of Fairlead's pods, "" and empty if they are not known.
	kubernetes string
	images     []string
	wrappers   int // the number of wrappers in the archive
}

// index returns the text of the file index.txt.
func (c *collection) index(h heading) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("What `hostctl diagnose` has read for %s\n", h.scope)
	line("time      %s", c.archive.now.Format(time.RFC3339))
	line("hostctl   %s", h.version)
	line("host      Kubernetes %s", cmp.Or(h.kubernetes, "of an unknown version"))
	for _, image := range slices.Sorted(slices.Values(h.images)) {
		line("image     %s", c.redaction.text(image))
	}
	line("wrappers  %d", h.wrappers)
	line("\nRedacted: %s.", &c.redaction)
	line("Not in the archive: values of Secrets, content of ConfigMaps outside of wrappers, content of ControllerRevisions, anything from a member that")
	line("the host does not have. Names, labels, images, addresses and messages are in it: look through it before you send it.")
	section := func(title string, lines []string) {
		line("\n%s", title)
		for _, text := range lines {
			line("  %s", text)
		}
		if len(lines) == 0 {
			line("  nothing")
		}
	}
	section("Not read:", c.notRead)
	section("Left out:", c.leftOut())
	line("\nFiles, with their sizes in bytes:")
	for _, file := range c.archive.files {
		line("%10d  %s", file.size, file.name)
	}
	return b.String()
}

// leftOut returns the notes about what was read and is not in the archive.
func (c *collection) leftOut() []string {
	notes := slices.Clone(c.cut)
	if c.archive.omitted > 0 {
		notes = append(notes, fmt.Sprintf("%d files, because the archive has reached its limit of %s; `hostctl diagnose NAME -n NAMESPACE` reads one wrapper",
			c.archive.omitted, sizeOf(c.archive.most)))
	}
	return notes
}

// sizeOf returns a number of bytes for a person.
func sizeOf(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
