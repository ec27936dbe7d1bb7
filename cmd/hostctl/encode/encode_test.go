// SPDX-License-Identifier: Apache-2.0

package encode_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/encode"
)

type closed struct{}

var errClosed = errors.New("closed")

func (closed) Write([]byte) (int, error) { return 0, errClosed }

func TestAStreamHasOneValueALineOrDocument(t *testing.T) {
	for format, want := range map[string]string{
		encode.JSON: "{\"id\":1,\"name\":\"a\"}\n{\"id\":2,\"name\":\"b\"}\n",
		encode.YAML: "---\nid: 1\nname: a\n---\nid: 2\nname: b\n",
	} {
		t.Run(format, func(t *testing.T) {
			out := &bytes.Buffer{}
			for i, name := range []string{"a", "b"} {
				value := map[string]any{"id": i + 1, "name": name}
				if err := encode.Item(out, format, value); err != nil {
					t.Error(err)
				}
				if err := encode.Item(closed{}, format, value); !errors.Is(err, errClosed) {
					t.Errorf("a closed output: %v", err)
				}
			}
			if out.String() != want {
				t.Errorf("got %q, want %q", out, want)
			}
		})
	}
}

func TestAValueIsWrittenForPrograms(t *testing.T) {
	value := map[string]any{"clusters": []string{"east"}, "id": "<a>"}
	for format, want := range map[string]string{
		encode.JSON: "{\n  \"clusters\": [\n    \"east\"\n  ],\n  \"id\": \"\\u003ca\\u003e\"\n}\n",
		encode.YAML: "clusters:\n- east\nid: <a>\n",
	} {
		t.Run(format, func(t *testing.T) {
			out := &bytes.Buffer{}
			if err := encode.To(out, format, value); err != nil || out.String() != want {
				t.Errorf("got %q, %v", out, err)
			}
			if err := encode.To(closed{}, format, value); !errors.Is(err, errClosed) {
				t.Errorf("a closed output: %v", err)
			}
		})
	}
}
