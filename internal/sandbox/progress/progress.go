// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	frameEvery = 120 * time.Millisecond
	stillEvery = time.Minute
)

var frames = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// Printer writes the progress of steps to one stream. Several goroutines can use it.
type Printer struct {
	mu      sync.Mutex
	out     io.Writer
	width   int // the terminal's width; 0 if out is no terminal
	running []*Step
	frame   int
	live    bool // the line of the running steps is on the screen now
	stop    chan struct{}
}

// Step is a step in progress. It ends with Done, Donef, Skip or Fail.
type Step struct {
	p     *Printer
	what  string
	note  string
	began time.Time
	told  time.Time
}

// New returns a Printer that writes to out. On a terminal it also shows a line of the running steps.
func New(out io.Writer) *Printer {
	p := &Printer{out: out}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.width = 80
		if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 20 {
			p.width = w
		}
	}
	return p
}

// Discard returns a Printer that shows nothing.
func Discard() *Printer { return New(io.Discard) }

// Step begins a step. The text describes it.
func (p *Printer) Step(format string, args ...any) *Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	s := &Step{p: p, what: fmt.Sprintf(format, args...), began: now, told: now}
	p.running = append(p.running, s)
	if p.width == 0 {
		p.print("• " + s.what)
	}
	if p.stop == nil {
		p.stop = make(chan struct{})
		go p.animate(p.stop)
	}
	return s
}

// Note prints a line that is about no step.
func (p *Printer) Note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.print("• " + fmt.Sprintf(format, args...))
}

// Update sets a detail that is shown behind the running step.
func (s *Step) Update(format string, args ...any) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	s.note = fmt.Sprintf(format, args...)
}

// Done ends the step with success.
func (s *Step) Done() { s.Donef("%s", s.what) }

// Donef ends the step with success and shows this text in place of the step's own text.
func (s *Step) Donef(format string, args ...any) {
	s.end("✓ " + fmt.Sprintf(format, args...) + " (" + Seconds(time.Since(s.began)) + ")")
}

// Skip ends the step and prints nothing, for example because the caller prints the error.
func (s *Step) Skip() { s.end("") }

// Fail ends the step with an error.
func (s *Step) Fail(err error) { s.end("✗ " + s.what + ": " + err.Error()) }

func (s *Step) end(line string) {
	p := s.p
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = slices.DeleteFunc(p.running, func(r *Step) bool { return r == s })
	if line != "" {
		p.print(line)
	} else {
		p.wipe()
	}
	if len(p.running) == 0 && p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
}

// Seconds returns a duration for people: 0.4 s, 8 s, 2 min 5 s.
func Seconds(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", int(d.Round(time.Second).Seconds()))
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

func (p *Printer) print(line string) {
	p.wipe()
	_, _ = fmt.Fprintln(p.out, line) // an error does not matter: the work goes on without the line
}

func (p *Printer) wipe() {
	if p.live {
		_, _ = fmt.Fprint(p.out, "\r\x1b[K")
		p.live = false
	}
}

func (p *Printer) animate(stop chan struct{}) {
	tick := time.NewTicker(frameEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case now := <-tick.C:
			p.mu.Lock()
			if p.stop == stop {
				p.draw(now)
			}
			p.mu.Unlock()
		}
	}
}

func (p *Printer) draw(now time.Time) {
	if p.width == 0 {
		for _, s := range p.running {
			if now.Sub(s.told) >= stillEvery {
				s.told = now
				p.print(fmt.Sprintf("• still %s, %s", s.text(), Seconds(now.Sub(s.began))))
			}
		}
		return
	}
	texts := make([]string, len(p.running))
	for i, s := range p.running {
		texts[i] = s.text() + " " + Seconds(now.Sub(s.began).Truncate(time.Second))
	}
	p.frame = (p.frame + 1) % len(frames)
	line := []rune(string(frames[p.frame]) + " " + strings.Join(texts, " · "))
	if len(line) > p.width-1 {
		line = append(line[:p.width-2], '…')
	}
	p.wipe()
	_, _ = fmt.Fprint(p.out, string(line))
	p.live = true
}

func (s *Step) text() string {
	if s.note == "" {
		return s.what
	}
	return s.what + ": " + s.note
}
