// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// lengthOf replaces a value of a Secret.
func lengthOf(n int) string { return fmt.Sprintf("<%d bytes>", n) }

// sizes returns a copy of the data of a Secret in which the length stands in place of each value. The names of the keys stay.
func (r *redaction) sizes(key string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name := range v {
			out[r.text(name)] = r.sizes(key, v[name])
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = r.sizes(key, v[i])
		}
		return out
	case nil:
		return nil
	case string:
		r.secrets++
		if content, err := base64.StdEncoding.DecodeString(v); err == nil && key == "data" {
			return lengthOf(len(content))
		}
		return lengthOf(len(v))
	}
	r.secrets++
	content, err := json.Marshal(value)
	if err != nil {
		return lengthOf(0)
	}
	return lengthOf(len(content))
}

// variableValue matches the path of a patch that sets the value of an environment variable. The path does not have the variable's name, so
// nothing tells whether the value is a secret.
var variableValue = regexp.MustCompile(`/env/[^/]+/value$`)

// override redacts an override of a wrapper. It returns false for anything else. If the target can be a Secret, the values of the
// patches and the merge are replaced by their lengths: a patch of path /data/x has no field that tells that it is for a Secret.
func (r *redaction) override(in place, m map[string]any) (map[string]any, bool) {
	target, ok := m["target"].(map[string]any)
	_, merges := m["merge"]
	patches, patched := m["patch"].([]any)
	if !ok || !merges && !patched {
		return nil, false
	}
	kind, _ := target["kind"].(string)
	forSecret := in.secret || isSecretKind(kind)
	out := make(map[string]any, len(m))
	for key, v := range m {
		switch {
		case key == "merge" && forSecret:
			out[key] = r.sizes(key, v)
		case key == "merge":
			// A merge has no kind. Only in a ConfigMap is data known to be no secret.
			out[key] = r.value(place{parent: in.key, key: key, secret: kind != "ConfigMap"}, v)
		case key == "patch" && patched:
			list := make([]any, len(patches))
			for i := range patches {
				list[i] = r.operation(kind, forSecret, pathOf(patches[i]), patches[i])
			}
			out[key] = list
		default:
			out[r.text(key)] = r.value(in.at(key), v)
		}
	}
	return out, true
}

// operation redacts one operation of a patch, or the field valueFrom of an operation. kind is the kind of the objects that the patch
// changes, and path is the path of the operation. If forSecret is true, the values are those of a Secret.
func (r *redaction) operation(kind string, forSecret bool, path string, operation any) any {
	m, ok := operation.(map[string]any)
	if !ok {
		return r.value(place{secret: true}, operation)
	}
	segments := strings.Split(path, "/")
	forSecret = forSecret || slices.Contains(segments, "stringData") || kind != "ConfigMap" && slices.Contains(segments, "data") || variableValue.MatchString(path)
	last := segments[len(segments)-1]
	out := make(map[string]any, len(m))
	for key, v := range m {
		switch {
		case (key == "value" || key == "default") && forSecret:
			out[key] = r.sizes(last, v)
		case key == "value", key == "default":
			out[key] = r.value(place{key: last, secret: kind != "ConfigMap"}, v)
		case key == "valueFrom":
			out[key] = r.operation(kind, forSecret, path, v) // its default is a value too
		default:
			out[r.text(key)] = r.value(place{key: key}, v)
		}
	}
	return out
}

// pathOf returns the path of an operation of a patch.
func pathOf(operation any) string {
	m, _ := operation.(map[string]any)
	path, _ := m["path"].(string)
	return path
}

// bundle returns the digest and the end of validity of each certificate in a caBundle. A bundle that holds something else is redacted
// like any other text.
func (r *redaction) bundle(in place, value any) any {
	text, ok := value.(string)
	if !ok {
		return r.value(in, value)
	}
	content, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return r.keyed(in, text)
	}
	var found []string
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			found = append(found, "unreadable "+strings.ToLower(r.text(block.Type)))
			continue
		}
		found = append(found, fmt.Sprintf("sha256:%x, expires %s", sha256.Sum256(block.Bytes), certificate.NotAfter.UTC().Format(time.RFC3339)))
	}
	if len(found) == 0 {
		return lengthOf(len(content)) + ", no certificate"
	}
	return strings.Join(found, "; ")
}
