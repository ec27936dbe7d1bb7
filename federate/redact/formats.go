// SPDX-License-Identifier: Apache-2.0

package redact

import "strings"

// appendFormats finds the secrets that begin with a fixed text.
func appendFormats(found []span, text string) []span {
	for _, f := range formats {
		for at := 0; ; {
			i := strings.Index(text[at:], f.prefix)
			if i < 0 {
				break
			}
			from := at + i + len(f.prefix)
			to := f.body.end(text, from)
			if boundary(text, at+i) && to-from >= f.min && (f.only == nil || f.only(text[from:to])) {
				found = add(found, text, span{from, to})
			}
			at = to
		}
	}
	return found
}

// appendJWTs finds base64url texts that begin with {". Such a text is the header or the payload of a JWT (RFC 7519), or JSON such
// as a dockerconfigjson.
func appendJWTs(found []span, text string) []span {
	for at := 0; ; {
		i := strings.Index(text[at:], "eyJ")
		if i < 0 {
			return found
		}
		from := at + i
		to := tokenText.end(text, from)
		if to-from >= 10 && boundary(text, from) {
			// The header's start may have been cut off.
			found = add(found, text, span{tokenText.start(text, from, 256), to})
		}
		at = to
	}
}

// appendBootstrapTokens finds Kubernetes bootstrap tokens: six and sixteen lower-case letters and digits with a dot between them
// (kubernetes.io, "Authenticating with Bootstrap Tokens").
func appendBootstrapTokens(found []span, text string) []span {
	const id, secret = 6, 16
	inName := func(i int) bool { return i >= 0 && i < len(text) && (keyText[text[i]] || text[i] == '/') }
	for i := id; i < len(text); i++ {
		if text[i] != '.' || inName(i-id-1) {
			continue
		}
		end := alnum.end(text, i+1)
		first, second := text[i-id:i], text[i+1:end]
		// A cut may have taken the end of the secret.
		whole := len(second) == secret || end == len(text) && len(second) >= 8 && len(second) < secret
		// A dot may end a sentence after the token.
		alone := !inName(end) || text[end] == '.' && !inName(end+1)
		if whole && alone && isBootstrapToken(first, second) {
			found = add(found, text, span{i - id, end})
		}
	}
	return found
}

func isBootstrapToken(id, secret string) bool {
	const digits = "0123456789"
	both := id + secret
	if strings.Trim(both, "abcdefghijklmnopqrstuvwxyz"+digits) != "" || !hasDigit(both) || strings.Trim(both, digits) == "" {
		return false
	}
	// The name of an event has the same form, and is no token: the object's name, a dot, and the time in hexadecimal digits
	// ("worker.17a1b2c3d4e5f6a7").
	event := !hasDigit(id) && secret[0] == '1' && strings.Trim(secret, digits+"abcdef") == ""
	return !event
}
