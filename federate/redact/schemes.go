// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"slices"
	"strings"
)

// param is the start of the parameters of the scheme Digest (RFC 7616).
var param = regexp.MustCompile(`^(?i:username|realm|nonce|uri|qop|nc|cnonce|response|opaque|algorithm)\*?=`)

// appendSchemeTokens finds tokens after "Bearer", base64 after "Basic", and the parameters of "Digest", without the name of the header.
func appendSchemeTokens(found []span, text string) []span {
	for i := 0; i < len(text); i++ {
		if c := text[i] | 0x20; c != 'b' && c != 'd' || !boundary(text, i) {
			continue
		}
		for _, name := range []string{"bearer", "basic", "digest"} {
			from := i + len(name)
			if !hasAt(text, i, name) || from == len(text) || text[from] != ' ' && text[from] != '\t' {
				continue
			}
			for from < len(text) && (text[from] == ' ' || text[from] == '\t') {
				from++
			}
			to := from
			for to < len(text) && strings.IndexByte(" \t\r\n\"'`,;<>[]{}()\\", text[to]) < 0 {
				to++
			}
			switch {
			case name == "digest" && param.MatchString(text[from:min(len(text), from+16)]):
				to = lineEnd(text, from)
				found = add(found, text, span{from, to})
			case name != "digest" && isCredential(text[i:i+len(name)], text[from:to]):
				found = add(found, text, span{from, to})
			}
			i = max(i, to-1)
			break
		}
	}
	return found
}

// isCredential reports whether text, after the name of a scheme, is a token and not the next word of a sentence.
func isCredential(name, text string) bool {
	lower := strings.ToLower(strings.TrimRight(text, ".:?!"))
	if lower == "" || slices.Contains(prose, lower) || slices.Contains(nothing, lower) || strings.HasPrefix(lower, "realm=") || strings.HasPrefix(lower, "error=") {
		return false
	}
	if keyKind(lower) != noSecret || strings.HasPrefix(lower, "auth") || lower == "scheme" || lower == "header" {
		return false
	}
	words := strings.Trim(text, "abcdefghijklmnopqrstuvwxyz.:-") == ""
	if strings.EqualFold(name, "basic") {
		return len(text) >= 8 && !words && strings.Trim(text[1:], "abcdefghijklmnopqrstuvwxyz") != ""
	}
	return name != "bearer" || !words || len(text) >= 20
}
