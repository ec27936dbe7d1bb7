// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"strings"
)

// urls finds passwords in URLs (RFC 3986, userinfo) and in the DSN of Go's MySQL driver: user:password@tcp(host).
func (s *scan) urls() {
	wordEnd, lastAt := 0, -1
	for i := 0; i+1 < len(s.text); i++ {
		if s.text[i] != '/' || s.text[i+1] != '/' {
			continue
		}
		from := i + 2
		// The end of the word and its last @ are computed once per word, so that a word full of slashes costs linear time.
		if from >= wordEnd {
			wordEnd = s.urlEnd(from)
			lastAt = from + strings.LastIndexByte(s.text[from:wordEnd], '@')
		}
		s.userinfo(from, wordEnd, lastAt)
	}
	s.userinfoWithoutScheme()
}

// urlEnd returns the end of the word at i: white space, or a quote or bracket that cannot be part of a URL.
func (s *scan) urlEnd(i int) int {
	for ; i < len(s.text); i++ {
		switch c := s.text[i]; c {
		case ' ', '\t', '\n', '\r', '"', '<', '>', '`':
			return i
		case '\'':
			if i+1 == len(s.text) || strings.IndexByte(" \t\r\n,;:)]}", s.text[i+1]) >= 0 {
				return i
			}
		}
	}
	return i
}

func (s *scan) userinfo(from, wordEnd, lastAt int) {
	n := strings.IndexAny(s.text[from:wordEnd], ":/?#@[")
	if n < 0 {
		return
	}
	at := from + n
	switch s.text[at] {
	case '@':
		// A user without a password may be a token: https://TOKEN@host.
		if n >= 16 && hasDigit(s.text[from:at]) {
			s.add(from, at)
		}
	case ':':
		password := at + 1
		digits := s.run(password, decimal)
		port := digits-password <= 5 && (digits == wordEnd || !alnum[s.text[digits]])
		if lastAt >= password {
			// A password may begin with digits too.
			port = digits-password >= 2 && digits-password <= 5 && s.text[digits] == '/'
		}
		switch {
		case port:
		case lastAt >= password:
			s.add(password, lastAt)
		case wordEnd == len(s.text):
			// The end of the text may have cut off the host.
			s.add(password, wordEnd)
		}
	}
}

// hostAfterAt is what follows the @ of a password whose URL has no scheme, or has lost it.
var hostAfterAt = regexp.MustCompile(`^@(?:(?:tcp|udp|unix)\(|/|[A-Za-z0-9._-]{1,100}(?::\d{1,5}|/))`)

func (s *scan) userinfoWithoutScheme() {
	for i := 1; i < len(s.text); i++ {
		if s.text[i] != '@' || s.hasAt(i, "@sha256:") || s.hasAt(i, "@sha512:") || !hostAfterAt.MatchString(s.text[i:min(len(s.text), i+128)]) {
			continue
		}
		start := i
		for stop := max(0, i-256); start > stop && strings.IndexByte(" \t\r\n\"<>`", s.text[start-1]) < 0; {
			start--
		}
		if strings.Contains(s.text[start:i], "//") {
			continue
		}
		if colon := strings.IndexByte(s.text[start:i], ':'); colon >= 0 {
			s.add(start+colon+1, i)
		} else if start == 0 && hasDigit(s.text[:i]) {
			// The start of the text may have cut off the user.
			s.add(0, i)
		}
	}
}
