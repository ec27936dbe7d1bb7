// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkProperties fails if Text(text) does not hold what its comment promises for every text.
func checkProperties(t *testing.T, text string) {
	t.Helper()
	got := Text(text)
	if again := Text(got); again != got {
		t.Errorf("Text is not idempotent:\n text %q\n once %q\ntwice %q", text, got, again)
	}
	if !utf8.ValidString(got) {
		t.Errorf("Text(%q) is not valid UTF-8: %q", text, got)
	}
	if limit := 3*len(text) + len(Mark); len(got) > limit {
		t.Errorf("Text(%q) has %d bytes, more than %d: %q", text, len(got), limit, got)
	}
	if !strings.Contains(got, Mark) && got != strings.ToValidUTF8(text, "\uFFFD") {
		t.Errorf("Text changed %q without a mark: %q", text, got)
	}
}

func TestPropertiesHoldForTheCorpus(t *testing.T) {
	for _, file := range []string{"secrets.txt", "plain.txt"} {
		lines, _ := corpus(t, file)
		for _, line := range lines {
			checkProperties(t, line)
			for cut := 0; cut < len(line); cut += 7 {
				checkProperties(t, line[cut:]+"\xff"+line[:cut])
			}
		}
		checkProperties(t, strings.Join(lines, "\n"))
	}
}

// The corpus has one key per format. This test makes many, so that a heuristic that fits only the corpus fails it.
func TestRandomKeysAreFound(t *testing.T) {
	const (
		letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
		keys    = 1000
	)
	for name, tc := range map[string]struct {
		alphabet string
		length   int
		before   string
		after    string
		missed   int // at most so many of 1000
	}{
		"a key in base64 in the middle of a text":            {letters + "+/", 40, "some words before ", " and some after it", 5},
		"a long key in base64url in the middle of a text":    {letters + "-_", 64, "some words before ", " and some after it", 5},
		"a hexadecimal key in the middle of a text":          {"0123456789abcdef", 32, "some words before ", " and some after it", 0},
		"a long part of a key at the start of a text":        {letters, 24, "", " and some words after it", 10},
		"a short part of a key at the start of a text":       {letters, 12, "", " and some words after it", 200},
		"a part of a key at the end of a text":               {letters, 24, "some words before it ", "", 10},
		"a part of a hexadecimal key at the start of a text": {"0123456789abcdef", 24, "", " and some words after it", 5},
		"a value of any kind after its key":                  {letters + "!#$%^*()-_=+,.;:?@/|~", 16, "password=", " and some words", 0},
		"a value of any kind in quotes":                      {letters + "!#$%^*()-_=+,.;:?@/|~ ", 16, `{"password":"`, `","user":"bob"}`, 0},
		"a password of any kind in a URL":                    {letters + "!#$%^*()-_=+,.;:?@|~", 16, "postgres://bob:", "@db:5432/shop", 0},
		"a line of a PEM block without BEGIN and END":        {letters + "+/", 64, "", "", 5},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2))
			missed := 0
			for range keys {
				var key strings.Builder
				for range tc.length {
					key.WriteByte(tc.alphabet[random.IntN(len(tc.alphabet))])
				}
				// A key counts as missed if the output has its first half. A shorter part may be left beside a character that looks
				// like a separator.
				half := key.String()[:tc.length/2]
				if got := Text(tc.before + key.String() + tc.after); strings.Contains(got, half) {
					missed++
					if missed > tc.missed && missed < tc.missed+5 {
						t.Errorf("%q is in the output %q", half, got)
					}
				}
			}
			if missed > tc.missed {
				t.Errorf("%d of %d keys are in the output, want at most %d", missed, keys, tc.missed)
			}
		})
	}
}

// adversarial are texts that cost quadratic time in scanners that look ahead or back without a bound.
var adversarial = []string{
	"//:", "//:x", "@", "a@b:1", "x:@h/", "password=", "password:\"", "password: |\n", "a=", "token: [", "{", "'", "\\", `\"`, "-----BEGIN A KEY-----",
	"-----END A KEY-----", "-----BEGIN A KEY-----\n", "eyJ", "eyJa.", "ghp_", "a.", "abcdef.", "bearer ", "Bearer a ", "name:password,value:", "--token ", "-", " is ", "api key id ",
	"A", "aB3", "aB3/", "aB3-", "0a", "\n", " ", "&a=", ",a", "<password>", "%22", "token%3D", "Cookie: a\\n", "auth: Basic ", "MII\n", "QUJD\\n", "\xff", "é", "[redacted]", "token=[redacted]", "}",
	"token=${", "password=,", "password=&a", "secret key id ", "digest nc=",
}

// BenchmarkAdversarial shows whether the time is linear in the length: 32 times the text must not take 1024 times as long.
func BenchmarkAdversarial(b *testing.B) {
	for _, size := range []int{8 << 10, 256 << 10} {
		b.Run(byteSize(size), func(b *testing.B) {
			for b.Loop() {
				for _, unit := range adversarial {
					Text(strings.Repeat(unit, size/len(unit)))
				}
			}
		})
	}
}

func FuzzText(f *testing.F) {
	for _, file := range []string{"secrets.txt", "plain.txt"} {
		lines, _ := corpus(f, file)
		for _, line := range lines {
			f.Add(line)
		}
	}
	for _, unit := range adversarial {
		f.Add(strings.Repeat(unit, 3))
	}
	f.Fuzz(checkProperties)
}

func BenchmarkText(b *testing.B) {
	for _, file := range []string{"plain.txt", "secrets.txt"} {
		lines, _ := corpus(b, file)
		for _, size := range []int{512, 8 << 10, 64 << 10} {
			text := strings.Join(lines, "\n")
			text = strings.Repeat(text, size/len(text)+1)[:size]
			b.Run(strings.TrimSuffix(file, ".txt")+"/"+byteSize(size), func(b *testing.B) {
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					Text(text)
				}
			})
		}
	}
}

func byteSize(n int) string {
	return map[int]string{512: "512B", 8 << 10: "8KiB", 64 << 10: "64KiB"}[n]
}
