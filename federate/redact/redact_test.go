// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"os"
	"strings"
	"testing"
)

// corpus returns the lines of a file in testdata, with the title of the section that each is in.
func corpus(t testing.TB, file string) (lines, sections []string) {
	t.Helper()
	content, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	section := ""
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		if title, ok := strings.CutPrefix(line, "# "); ok {
			section = title
			continue
		}
		lines, sections = append(lines, line), append(sections, section)
	}
	return lines, sections
}

func TestPlainStaysAsItIs(t *testing.T) {
	lines, _ := corpus(t, "plain.txt")
	for _, line := range lines {
		if got := Text(line); got != line {
			t.Errorf("Text changed a line without a secret:\n got %s\nwant %s", got, line)
		}
	}
	text := strings.Join(lines, "\n")
	if got := Text(text); got != text {
		t.Error("Text changed the lines of plain.txt in one text, and not one by one")
	}
}

func TestCanaries(t *testing.T) {
	lines, sections := corpus(t, "secrets.txt")
	for i, line := range lines {
		if !strings.Contains(line, "CANARY") {
			t.Fatalf("line without a canary: %s", line)
		}
		weak := strings.HasPrefix(sections[i], "weak")
		texts := []string{line, "starting\n" + line + "\nstopped"}
		if !weak {
			texts = append(texts, "info: "+line, line+" in the line")
		}
		if strings.Contains(line, `\n`) {
			texts = append(texts, strings.ReplaceAll(line, `\n`, "\n"))
		}
		for n, text := range texts {
			if got := Text(text); strings.Contains(got, "CANARY") {
				t.Errorf("a secret is in the output:\n text %q\n  got %q", text, got)
				continue
			}
			if n > 0 && strings.Count(text, "\n") < 3 {
				continue
			}
			for cut := range len(text) {
				checkCut(t, text[:len(text)-cut])
				if !weak {
					checkCut(t, text[cut:])
				}
			}
		}
	}
}

// checkCut fails the test if Text leaves a part of a secret in the rest of a cut text: the word CANARY, which every secret of the
// tests contains, in a run of at least minCutSecret bytes.
func checkCut(t *testing.T, rest string) {
	t.Helper()
	got := Text(rest)
	at := strings.LastIndex(got, "CANARY")
	if at < 0 {
		return
	}
	inSecret := func(r rune) bool { return r > 0x7f || !base64Any[byte(r)] }
	from := strings.LastIndexFunc(got[:at], inSecret) + 1
	to := len(got)
	if n := strings.IndexFunc(got[at:], inSecret); n >= 0 {
		to = at + n
	}
	if to-from >= minCutSecret {
		t.Errorf("a part of a secret with %d bytes is in the output:\n text %q\n  got %q", to-from, rest, got)
	}
}

// minCutSecret is a number of bytes. If a cut leaves at least so many bytes of a secret, Text always finds them.
const minCutSecret = 20
