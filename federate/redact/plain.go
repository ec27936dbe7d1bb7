// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"slices"
	"strings"
)

// reference is a value that names a secret instead of holding it: an environment variable, or a file.
var reference = regexp.MustCompile(`^(?:\$[A-Z_]{3,}|\$\{[A-Z0-9_]+\}|\$\([A-Z0-9_]+\)|/(?:etc|var|run|usr|opt|home|tmp|mnt|root|secrets|vault|proc|app|data)(?:/[a-z0-9_.-]+)+/?:?)$`)

// fileName is a key of a Secret object: "references non-existent secret key: tls.crt".
var fileName = regexp.MustCompile(`^[a-z][a-z0-9-]*\.(?:crt|key|pem|json|ya?ml|conf|cfg|txt|toml|env|p12|jks|properties)$`)

// plain reports whether a value can be shown although its key, for example "password", names a secret: the value is empty, a mask, or a
// reference to the place of the secret.
func plain(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || text == Mark || strings.Trim(text, "*•.…-") == "" || len(text) > 3 && strings.Trim(text, "xX") == "" || reference.MatchString(text) {
		return true
	}
	return fileName.MatchString(text) || slices.Contains(nothing, strings.ToLower(strings.TrimRight(text, ".")))
}

// name is a Kubernetes object as programs write it into their logs: namespace/name (klog.KObj).
var name = regexp.MustCompile(`^[a-z][a-z0-9.-]*/[a-z0-9][a-z0-9.-]*[a-z0-9]$`)

// count is a number of tokens or sessions.
var count = regexp.MustCompile(`^\d{1,9}$`)

// objectName reports whether content, the value of a key in text, is no secret although the key names one: the name of a Secret object,
// a number of tokens or of passed tests (PASS), or a working directory (PWD).
func objectName(text string, v value, content string) bool {
	if v.key == noKey {
		return false
	}
	key := strings.ToLower(text[v.key:keyText.end(text, v.key)])
	switch {
	case key == "secret" || strings.HasSuffix(key, "secretref"):
		return name.MatchString(content)
	case strings.HasSuffix(key, "tokens"), strings.HasSuffix(key, "sessions"), strings.HasSuffix(key, "secrets"), strings.HasSuffix(key, "credentials"):
		return count.MatchString(content)
	case key == "pass":
		return v.colon && (strings.HasPrefix(text[v.key:], "PASS:") || count.MatchString(content))
	case key == "pwd", key == "oldpwd":
		return strings.HasPrefix(content, "/")
	}
	return false
}
