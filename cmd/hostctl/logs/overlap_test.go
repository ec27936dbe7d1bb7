// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestNewLinesOfASnapshot(t *testing.T) {
	for name, test := range map[string]struct {
		last, next, want string
		overlaps         bool
	}{
		"the first snapshot":                         {"", "a b", "a b", true},
		"nothing new":                                {"a b", "a b", "", true},
		"a log that grows":                           {"a b", "a b c d", "c d", true},
		"a window that moves":                        {"a b c", "b c d", "d", true},
		"one common line":                            {"a b c", "c d e", "d e", true},
		"no common line":                             {"a b c", "e f g", "e f g", false},
		"a window that begins earlier":               {"c d", "a b c d e", "e", true},
		"a shorter window without a new line":        {"a b c", "c", "", true},
		"an empty log after lines":                   {"a b", "", "", true},
		"a common line that is not the end of last":  {"a b c", "b x", "b x", false},
		"the same line again":                        {"x", "x x x", "x x", true},
		"a repeated line, and the window moves":      {"a x x", "x x y", "y", true},
		"a repeated block, and the log grows":        {"a b a b", "a b a b a b", "a b", true},
		"the end of last occurs earlier in next too": {"a b", "b c a b d", "d", true},
		"empty lines":                                {"a  b", "a  b  ", " ", true},
	} {
		t.Run(name, func(t *testing.T) {
			last, next, want := split(test.last), split(test.next), split(test.want)
			got, overlaps := newLines(last, next)
			if !slices.Equal(got, want) || overlaps != test.overlaps {
				t.Errorf("got %q, %v, want %q, %v", got, overlaps, want, test.overlaps)
			}
		})
	}
}

func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, " ")
}

// Snapshots are windows of one log, whose end never goes back. Joined, the new lines have to be the log from the first window on: in order,
// no line twice, and none missing as long as each window has a line in common with the one before.
func TestNewLinesJoinSnapshotsToOneLog(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 0))
		log := make([]string, 1+r.IntN(40))
		for i := range log {
			log[i] = strconv.Itoa(i)
		}
		from, to := 0, 1+r.IntN(len(log))
		first, last := from, log[from:to]
		joined := slices.Clone(last)
		for to < len(log) {
			begin, end := from, to
			to += r.IntN(len(log) - to + 1)
			from = r.IntN(end) // also before the last window: a container can get more of the shared bytes
			got, overlaps := newLines(last, log[from:to])
			if !overlaps {
				t.Fatalf("seed %d: the windows %d-%d and %d-%d have a line in common", seed, begin, end, from, to)
			}
			joined, last = append(joined, got...), log[from:to]
		}
		if !slices.Equal(joined, log[first:]) {
			t.Fatalf("seed %d: got %v, want %v", seed, joined, log[first:])
		}
	}
}

// With lines that repeat, newLines cannot know how many of them are new. It must not return a line twice, nor change the order.
func TestNewLinesOfARepetitiveLogAreNeverTooMany(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		log := make([]string, 1+r.IntN(30))
		for i := range log {
			log[i] = strconv.Itoa(r.IntN(2))
		}
		from, to := 0, 1+r.IntN(len(log))
		for to < len(log) {
			last, end := log[from:to], to
			from += r.IntN(to - from) // the window moves only forward, and keeps a line of the last one
			to += r.IntN(len(log) - to + 1)
			next := log[from:to]
			got, overlaps := newLines(last, next)
			if !overlaps || len(got) > to-end || !slices.Equal(got, next[len(next)-len(got):]) {
				t.Fatalf("seed %d: %v and then %v: got %v, %v; %d lines are new", seed, last, next, got, overlaps, to-end)
			}
		}
	}
}

// Windows that have no line in common leave a gap, and newLines must tell so.
func TestNewLinesTellsAGap(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 2))
		log := make([]string, 3+r.IntN(30))
		for i := range log {
			log[i] = strconv.Itoa(i)
		}
		end := 1 + r.IntN(len(log)-2)
		begin := end + r.IntN(len(log)-end-1)
		got, overlaps := newLines(log[:end], log[begin:])
		if overlaps || !slices.Equal(got, log[begin:]) {
			t.Fatalf("seed %d: got %v, %v", seed, got, overlaps)
		}
	}
}
