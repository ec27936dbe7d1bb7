// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/redact"
)

// redaction removes secrets from what goes into the archive, and counts them for the index.
type redaction struct {
	texts   int // replaced by the mark of package redact
	secrets int // values of Secrets, replaced by their lengths
	dropped int // managedFields and annotations that are copies of other fields
}

// String returns how much is redacted, for a sentence.
func (r *redaction) String() string {
	return fmt.Sprintf("%d texts that look like secrets, %d values of Secrets, %d copies of fields (managedFields, last-applied-configuration)", r.texts, r.secrets, r.dropped)
}

// place tells where in an object a value is.
type place struct {
	// parent and key are the names of the two fields around the value. An element of a list has no key.
	parent, key string
	// secret is true within an object whose data are secrets.
	secret bool
}

// at returns the place of a field of the object at p.
func (p place) at(key string) place { return place{parent: p.key, key: key, secret: p.secret} }

// text redacts a text of several lines, as a whole and then line by line. Only the whole text shows a secret of several lines, for
// example a private key. But a quote that is never closed could hide the rest of the text from the rules for the whole text.
func (r *redaction) text(text string) string {
	out := health.Redact(text)
	lines := strings.Split(out, "\n")
	for i := range lines {
		lines[i] = redact.Text(lines[i])
	}
	out = strings.Join(lines, "\n")
	r.count(text, out)
	return out
}

// count adds the number of marks that redaction has put into a text. The parameter out is the text after redaction.
func (r *redaction) count(text, out string) {
	r.texts += max(0, strings.Count(out, redact.Mark)-strings.Count(text, redact.Mark))
}

// object returns a copy of an object without secrets.
func (r *redaction) object(obj map[string]any) map[string]any { return r.fields(place{}, obj) }

// value returns a copy of a value of an object without secrets.
func (r *redaction) value(in place, value any) any {
	switch v := value.(type) {
	case map[string]any:
		return r.fields(in, v)
	case []any:
		return r.list(in, v)
	case string:
		return r.keyed(in, v)
	case int64, float64, json.Number:
		return r.number(in, v)
	}
	return value // a bool or null
}

// list redacts the elements of a list. Elements that are texts are redacted together first: the element after "--password" is a secret.
func (r *redaction) list(in place, list []any) []any {
	texts := make([]string, 0, len(list))
	for _, element := range list {
		if text, ok := element.(string); ok {
			texts = append(texts, text)
		}
	}
	out := make([]any, len(list))
	if len(texts) < len(list) || len(list) == 0 {
		for i := range list {
			out[i] = r.value(place{parent: in.key, secret: in.secret}, list[i])
		}
		return out
	}
	together, ok := redactJSON(map[string][]string{in.key: texts})
	for i := range texts {
		text := redact.Mark
		if ok && len(together[in.key]) == len(texts) {
			text = together[in.key][i]
		}
		r.count(texts[i], text)
		out[i] = r.keyed(place{}, text)
	}
	return out
}

// fields redacts the fields of an object or of a part of it.
func (r *redaction) fields(in place, m map[string]any) map[string]any {
	in.secret = in.secret || isSecretKind(m["kind"])
	if patched, ok := r.override(in, m); ok {
		return patched
	}
	out := make(map[string]any, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		switch v := m[key]; {
		case key == "managedFields" && in.key == "metadata", key == corev1.LastAppliedConfigAnnotation:
			r.dropped++
		case key == "stringData", key == "data" && in.secret:
			out[key] = r.sizes(key, v)
		case key == "caBundle":
			out[key] = r.bundle(in.at(key), v)
		default:
			out[r.text(key)] = r.value(in.at(key), v)
		}
	}
	r.variable(out)
	return out
}

// isSecretKind reports whether objects of a kind hold secrets: Secret, SecretList, and kinds of operators such as SealedSecret, which
// have a template of a Secret without its kind.
func isSecretKind(kind any) bool {
	text, _ := kind.(string)
	return strings.Contains(strings.ToLower(text), "secret")
}

// variable redacts the field value of a map with the fields name and value, such as an environment variable. It takes the name as the
// key of the value, because the name can tell that the value is a secret.
func (r *redaction) variable(m map[string]any) {
	name, named := m["name"].(string)
	value, ok := m["value"].(string)
	if !named || !ok {
		return
	}
	pair, ok := redactJSON(map[string]string{"name": name, "value": value})
	byName, parsed := redactJSON(map[string]string{name: value})
	if !ok || !parsed || byName[name] != value {
		pair = map[string]string{"value": redact.Mark}
	}
	r.count(value, pair["value"])
	m["value"] = pair["value"]
}

// manifest matches the fields of a Secret in a text, for example in a manifest within a ConfigMap.
var manifest, manifestData = regexp.MustCompile(`(?i)kind\\*["']?\s*:\s*\\*["']?[a-z]*secret`), regexp.MustCompile(`(?i)\b(data|stringData)\\*["']?\s*:`)

// keyed redacts the text in a field: first the text alone, and then together with the name of the field, because the name can tell
// that the text is a secret. Of a text with the manifest of a Secret only the length stays.
func (r *redaction) keyed(in place, text string) string {
	if manifest.MatchString(text) && manifestData.MatchString(text) {
		r.secrets++
		return lengthOf(len(text)) + ", with a Secret"
	}
	out := health.Redact(text)
	if in.key != "" {
		parent := "object"
		if in.key == "value" && in.parent != "" {
			parent = in.parent // credentials: {value: …}
		}
		fields, ok := redactJSON(map[string]map[string]string{parent: {in.key: out}})
		if byKey, found := fields[parent][in.key]; ok && found {
			out = byKey
		} else {
			out = redact.Mark
		}
	}
	r.count(text, out)
	return out
}

// number redacts a number whose key tells that it is a secret.
func (r *redaction) number(in place, number any) any {
	if _, ok := redactJSON(map[string]any{in.key: number}); ok {
		return number
	}
	r.texts++
	return redact.Mark
}

// redactJSON redacts a value as JSON. It returns false if the redacted text is no longer JSON of this type.
func redactJSON[T any](value T) (out T, ok bool) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(value) != nil {
		return out, false
	}
	text := redact.Text(b.String())
	if text == b.String() {
		return value, true
	}
	return out, json.Unmarshal([]byte(text), &out) == nil
}
