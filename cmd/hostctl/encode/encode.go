// SPDX-License-Identifier: Apache-2.0

package encode

import (
	"encoding/json"
	"io"

	"sigs.k8s.io/yaml"
)

// These are the values of --output for programs.
const (
	JSON = "json"
	YAML = "yaml"
)

// Item writes one value of a stream: as JSON on one line, or as a YAML document. A program can read each value as soon as it is there.
func Item(out io.Writer, format string, value any) error {
	if format == JSON {
		return json.NewEncoder(out).Encode(value)
	}
	content, err := yaml.Marshal(value)
	if err == nil {
		_, err = out.Write(append([]byte("---\n"), content...))
	}
	return err
}

// To writes a value as JSON, indented by two spaces, or as YAML.
func To(out io.Writer, format string, value any) error {
	if format == JSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(value)
	}
	content, err := yaml.Marshal(value)
	if err == nil {
		_, err = out.Write(content)
	}
	return err
}
