// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"strings"
)

// appendURLPasswords finds passwords in URLs (RFC 3986, userinfo) and in the DSN of Go's MySQL driver:
// user:password@tcp(host).
func appendURLPasswords(found []span, text string) []span {
	wordEnd, lastAt := 0, -1
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '/' || text[i+1] != '/' {
			continue
		}
		from := i + 2
		// The end of the word and its last @ are computed once per word, so that a word full of slashes costs linear time.
		if from >= wordEnd {
			wordEnd = urlEnd(text, from)
			lastAt = from + strings.LastIndexByte(text[from:wordEnd], '@')
		}
		found = add(found, text, userinfo(text, from, wordEnd, lastAt))
	}
	return appendPasswordsWithoutScheme(found, text)
}

// urlEnd returns the end of the word at i: white space, or a quote or bracket that cannot be part of a URL.
func urlEnd(text string, i int) int {
	for ; i < len(text); i++ {
		switch c := text[i]; c {
		case ' ', '\t', '\n', '\r', '"', '<', '>', '`':
			return i
		case '\'':
			if i+1 == len(text) || strings.IndexByte(" \t\r\n,;:)]}", text[i+1]) >= 0 {
				return i
			}
		}
	}
	return i
}

// userinfo returns the secret before the host of the URL whose "//" ends at from. The word around it ends at wordEnd, and lastAt is
// the position of its last @, or less than from.
func userinfo(text string, from, wordEnd, lastAt int) span {
	n := strings.IndexAny(text[from:wordEnd], ":/?#@[")
	if n < 0 {
		return span{}
	}
	at := from + n
	switch text[at] {
	case '@':
		// A user without a password may be a token: https://TOKEN@host.
		if n >= 16 && hasDigit(text[from:at]) {
			return span{from, at}
		}
	case ':':
		password := at + 1
		digits := decimal.end(text, password)
		port := digits-password <= 5 && (digits == wordEnd || !alnum[text[digits]])
		if lastAt >= password {
			// A password may begin with digits too.
			port = digits-password >= 2 && digits-password <= 5 && text[digits] == '/'
		}
		switch {
		case port:
		case lastAt >= password:
			return span{password, lastAt}
		case wordEnd == len(text):
			// The text may have been cut before the host.
			return span{password, wordEnd}
		}
	}
	return span{}
}

// hostAfterAt is what follows the @ of a password whose URL has no scheme, or has lost it.
var hostAfterAt = regexp.MustCompile(`^@(?:(?:tcp|udp|unix)\(|/|[A-Za-z0-9._-]{1,100}(?::\d{1,5}|/))`)

// appendPasswordsWithoutScheme finds passwords before the @ of a URL or a DSN that has no "//".
func appendPasswordsWithoutScheme(found []span, text string) []span {
	for i := 1; i < len(text); i++ {
		if text[i] != '@' || hasAt(text, i, "@sha256:") || hasAt(text, i, "@sha512:") || !hostAfterAt.MatchString(text[i:min(len(text), i+128)]) {
			continue
		}
		start := i
		for stop := max(0, i-256); start > stop && strings.IndexByte(" \t\r\n\"<>`", text[start-1]) < 0; {
			start--
		}
		if strings.Contains(text[start:i], "//") {
			continue
		}
		if colon := strings.IndexByte(text[start:i], ':'); colon >= 0 {
			found = add(found, text, span{start + colon + 1, i})
		} else if start == 0 && hasDigit(text[:i]) {
			// The text may have been cut after the user.
			found = add(found, text, span{0, i})
		}
	}
	return found
}
