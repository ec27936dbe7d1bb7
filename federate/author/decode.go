// SPDX-License-Identifier: Apache-2.0

package author

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/yaml"
)

// decode decodes the values of one document. A document in JSON may have several values, one after the other.
func decode(text []byte) ([]any, error) {
	values, err := decodeValues(text)
	if f := (*fault)(nil); errors.As(err, &f) && bytes.Contains(text, []byte("{{")) {
		return nil, faultf(f.field, "%s; if it is a Helm template: %s", f.text, wayOfHelm)
	}
	return values, err
}

func decodeValues(text []byte) ([]any, error) {
	if looksLikeJSON(text) {
		values, err := decodeJSON(text)
		var f *fault
		if err == nil || errors.As(err, &f) {
			return values, err
		}
		// YAML in flow style begins with a brace too, so text that is not JSON goes to the YAML parser.
	}
	if err := checkYAML(text); err != nil {
		return nil, err
	}
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, faultf(nil, "is not valid YAML: %s", tidy(err))
	}
	return decodeJSON(data)
}

func looksLikeJSON(text []byte) bool {
	text = bytes.TrimLeft(text, " \t\r\n")
	if isMarker(text) {
		text = bytes.TrimLeft(text[len("---"):], " \t\r\n")
	}
	return len(text) > 0 && (text[0] == '{' || text[0] == '[')
}

// checkYAML refuses what the conversion to JSON would hide or change: aliases, duplicate keys, tags, numbers that do
// not fit, great depth, and a second document after `...`.
func checkYAML(text []byte) error {
	decoder := yamlv3.NewDecoder(bytes.NewReader(text))
	var root yamlv3.Node
	if err := decoder.Decode(&root); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return faultf(nil, "is not valid YAML: %s", tidy(err))
	}
	if err := checkNode(&root, nil, 0); err != nil {
		return err
	}
	var second yamlv3.Node
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return faultf(nil, "has text after the line that ends it: begin the next document with a line ---")
	}
	return nil
}

func checkNode(n *yamlv3.Node, path fieldPath, depth int) error {
	if n.Kind != yamlv3.ScalarNode && depth >= MaxDepth {
		return faultf(path.beginning(), "is nested deeper than %d levels", MaxDepth)
	}
	if n.Kind == yamlv3.AliasNode || n.Anchor != "" {
		return faultf(path, "YAML anchors (&%s) and aliases (*) are not accepted: write the value out", anchorOf(n))
	}
	if n.Style&yamlv3.TaggedStyle != 0 && !isCoreTag(n.ShortTag()) {
		return faultf(path, "the tag %s is not accepted, because Kubernetes objects have no tags", n.Tag)
	}
	switch n.Kind {
	case yamlv3.DocumentNode:
		for _, child := range n.Content {
			if err := checkNode(child, path, depth); err != nil {
				return err
			}
		}
	case yamlv3.SequenceNode:
		for i, child := range n.Content {
			if err := checkNode(child, path.index(i), depth+1); err != nil {
				return err
			}
		}
	case yamlv3.MappingNode:
		return checkMapping(n, path, depth)
	case yamlv3.ScalarNode:
		return checkScalar(n, path)
	}
	return nil
}

// checkScalar refuses numbers that the conversion to JSON would change. It runs before the conversion, so that the
// message can quote the number as the author wrote it.
func checkScalar(n *yamlv3.Node, path fieldPath) error {
	switch n.ShortTag() {
	case "!!float":
		f, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64)
		if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
			return faultf(path, "%s is a number that JSON cannot represent", n.Value)
		}
		if f >= pastInt64 || f <= -pastInt64 {
			return doesNotFit(n.Value, path)
		}
	case "!!int":
		var whole any
		if err := n.Decode(&whole); err != nil {
			return faultf(path, "%s is not a number: %s", n.Value, tidy(err))
		}
		if _, past := whole.(uint64); past {
			return doesNotFit(n.Value, path)
		}
	}
	return nil
}

// pastInt64 is the smallest number that is too large for an int64. The number -pastInt64 would fit, but a float64
// rounds numbers slightly below it to -pastInt64. So checkScalar refuses -pastInt64 too.
const pastInt64 = 1 << 63

func doesNotFit(number string, path fieldPath) error {
	return faultf(path, "the number %s does not fit 64 bits: quote it if it is meant as text", number)
}

func checkMapping(n *yamlv3.Node, path fieldPath, depth int) error {
	seen := make(map[string]struct{}, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yamlv3.ScalarNode || key.Anchor != "" {
			return faultf(path, "line %d of the document: a key must be plain text, not a list, mapping, anchor or alias", key.Line)
		}
		if key.ShortTag() == "!!merge" {
			return faultf(path, "the merge key << is not accepted: write the fields out")
		}
		if _, twice := seen[key.Value]; twice {
			return faultf(path.key(key.Value), "occurs twice; remove one of the two")
		}
		seen[key.Value] = struct{}{}
		if err := checkNode(value, path.key(key.Value), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func isCoreTag(tag string) bool {
	switch tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq":
		return true
	}
	return false
}

func anchorOf(n *yamlv3.Node) string {
	if n.Kind == yamlv3.AliasNode {
		return n.Value
	}
	return n.Anchor
}

// decodeJSON decodes JSON values that follow each other.
func decodeJSON(text []byte) ([]any, error) {
	text = bytes.TrimLeft(text, " \t\r\n")
	if isMarker(text) {
		text = text[len("---"):]
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var values []any
	for {
		value, err := decodeValue(decoder, nil, 0)
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
}

// decodeValue decodes one value token by token. Decoding the whole value with encoding/json would accept duplicate
// keys, and numbers that do not fit 64 bits.
func decodeValue(decoder *json.Decoder, path fieldPath, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		if depth > 0 && errors.Is(err, io.EOF) {
			return nil, io.ErrUnexpectedEOF
		}
		return nil, err
	}
	switch t := token.(type) {
	case json.Number:
		return number(t, path)
	case json.Delim:
		if depth >= MaxDepth {
			return nil, faultf(path.beginning(), "is nested deeper than %d levels", MaxDepth)
		}
		if t == '[' {
			return decodeList(decoder, path, depth)
		}
		return decodeMapping(decoder, path, depth)
	default:
		return t, nil
	}
}

func decodeList(decoder *json.Decoder, path fieldPath, depth int) (any, error) {
	list := []any{}
	for decoder.More() {
		value, err := decodeValue(decoder, path.index(len(list)), depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := decoder.Token()
	return list, unexpected(err)
}

func decodeMapping(decoder *json.Decoder, path fieldPath, depth int) (any, error) {
	mapping := map[string]any{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, unexpected(err)
		}
		key, isString := token.(string)
		if !isString {
			return nil, io.ErrUnexpectedEOF
		}
		if _, twice := mapping[key]; twice {
			return nil, faultf(path.key(key), "occurs twice; remove one of the two")
		}
		if mapping[key], err = decodeValue(decoder, path.key(key), depth+1); err != nil {
			return nil, err
		}
	}
	_, err := decoder.Token()
	return mapping, unexpected(err)
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// number decodes a number. A whole number stays an integer, because a float would change it past 2^53.
func number(n json.Number, path fieldPath) (any, error) {
	if i, err := n.Int64(); err == nil {
		return i, nil
	}
	f, err := n.Float64()
	if err != nil || f >= pastInt64 || f <= -pastInt64 {
		return nil, doesNotFit(n.String(), path)
	}
	if f == 0 {
		return int64(0), nil // the encoder would write -0.0 as -0, which decodes to 0
	}
	return f, nil
}

// tidy removes the prefixes that the libraries put in front of an error, because the caller adds the file and the
// field.
func tidy(err error) string {
	text := strings.ReplaceAll(err.Error(), "\n", " ")
	for _, prefix := range []string{"error converting YAML to JSON: ", "yaml: ", "unmarshal errors: ", "json: "} {
		text = strings.TrimPrefix(text, prefix)
	}
	return text
}
