// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

const (
	// usualWidth is the width of a terminal that does not tell its width, in characters.
	usualWidth = 80
	// leastWidth is the width to which hostctl wraps on a narrower terminal.
	leastWidth = 40
	// MaxText is the largest number of bytes of one text that hostctl prints.
	MaxText = 4096
)

// Screen describes the output that gets the text: a terminal or a pipe.
type Screen struct {
	// Width is the width of the terminal in characters. With 0, for a pipe, nothing is cut or wrapped.
	Width int
	// Colored is true if the text may have colors.
	Colored bool
}

// Of returns the screen of a stream. Colors are off in a pipe, with the variable NO_COLOR (https://no-color.org), and on a
// terminal that is called dumb.
func Of(out io.Writer) Screen {
	file, ok := out.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return Screen{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		width = usualWidth
	}
	return Screen{Width: max(width, leastWidth), Colored: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// The colors, as the parameters of the terminal sequence SGR.
const (
	Bold   = "1"
	Red    = "1;31"
	Yellow = "33"
	Green  = "32"
)

// Paint colors a text. With color "" it returns the text.
func (s Screen) Paint(color, text string) string {
	if !s.Colored || color == "" || text == "" {
		return text
	}
	return "\x1b[" + color + "m" + text + "\x1b[0m"
}

// Tell writes a line to standard error for the user: first the text head, in the given color, then the text. On a terminal it wraps the line.
func Tell(to io.Writer, color, head, text string) {
	p := &Page{Screen: Of(to)}
	p.Add(color, head, 2, text)
	_, _ = io.WriteString(to, p.String()) // an error here cannot be shown: stderr is closed
}

// Page collects lines for a screen.
type Page struct {
	Screen
	strings.Builder
}

// Add passes a text through health.Clean, wraps it, and adds the lines. The first line begins with the text head, in the given color.
// Each following line begins with as many spaces as the parameter indent says. The caller has passed head through health.Clean.
func (p *Page) Add(color, head string, indent int, text string) {
	p.AddAfter(p.Paint(color, head), utf8.RuneCountInString(head), indent, text)
}

// AddAfter does the same as Add for a text head that the caller has painted. The parameter used is the number of its characters,
// without those that make the colors.
func (p *Page) AddAfter(head string, used, indent int, text string) {
	text = health.Clean(text, MaxText)
	line := head
	empty := true
	for _, word := range unbroken(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case empty && used+length <= p.Width, p.Width == 0 && empty, empty && used <= indent:
			line, used = line+word, used+length
		case !empty && (p.Width == 0 || used+1+length <= p.Width):
			line, used = line+" "+word, used+1+length
		default:
			p.WriteString(strings.TrimRight(line, " ") + "\n")
			line, used = strings.Repeat(" ", indent)+word, indent+length
		}
		empty = false
	}
	p.WriteString(strings.TrimRight(line, " ") + "\n")
}

// AddVerbatim adds a line of a log, after as many spaces as the parameter indent says. It keeps the spaces of the line, replaces each
// tab by four, and cuts the line at the width of a terminal.
func (p *Page) AddVerbatim(indent int, line string) {
	line = strings.ReplaceAll(strings.ReplaceAll(plain.Text(line), "\t", "    "), "\n", " ")
	text := []rune(strings.Repeat(" ", indent) + line)
	if p.Width > 0 && len(text) > p.Width {
		text = append(text[:p.Width-1], '…')
	}
	p.WriteString(strings.TrimRight(string(text), " ") + "\n")
}

// unbroken splits a text at its spaces, but not inside a command between backticks: a person copies the command as one line.
func unbroken(text string) []string {
	var words []string
	inside := false
	for _, word := range strings.Fields(text) {
		if inside {
			words[len(words)-1] += " " + word
		} else {
			words = append(words, word)
		}
		if strings.Count(word, "`")%2 == 1 {
			inside = !inside
		}
	}
	return words
}
