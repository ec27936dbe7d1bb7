// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-dev/fairlead/overrides/jsonpointer"
)

// MaxDepth bounds the nesting depth of JSON in a wrapper, and of the objects that are rendered from the wrapper.
const MaxDepth = 100

// errNotObject is the error for valid JSON that is not an object.
var errNotObject = errors.New("it is not a JSON object")

// Decode decodes one object of a wrapper. Integers of up to 64 bits stay integers and do not become floats.
func Decode(raw runtime.RawExtension) (*unstructured.Unstructured, error) {
	data, err := Bytes(raw)
	if err != nil {
		return nil, err
	}
	object, err := DecodeObject(data)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: object}, nil
}

// Bytes returns the JSON of an object of a wrapper. It also works for a Go program that has set raw.Object in place of raw.Raw.
func Bytes(raw runtime.RawExtension) ([]byte, error) {
	if len(raw.Raw) > 0 || raw.Object == nil {
		return raw.Raw, nil
	}
	data, err := json.Marshal(raw.Object)
	if err != nil {
		return nil, fmt.Errorf("writing the object as JSON: %w", err)
	}
	return data, nil
}

// DecodeObject decodes a JSON object within the limits of DecodeValue. Any other JSON is an error.
func DecodeObject(data []byte) (map[string]any, error) {
	value, err := DecodeValue(data)
	if err != nil {
		return nil, err
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errNotObject
	}
	return object, nil
}

// DecodeValue decodes a JSON value. It refuses a value deeper than MaxDepth, and numbers that an API server would change.
func DecodeValue(data []byte) (any, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("it is empty")
	}
	if d := Depth(data); d > MaxDepth {
		return nil, fmt.Errorf("it is nested %d levels deep, and %d is the limit", d, MaxDepth)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if path, found := pastInt64(value, nil); found {
		// Do not quote the number: it may be secret, and the decoder has rounded it.
		if len(path) == 0 {
			return nil, errors.New("it is a number that does not fit 64 bits and was rounded on its way here: quote it if it is meant as text")
		}
		return nil, fmt.Errorf("the number at %s does not fit 64 bits and was rounded on its way here: quote it if it is meant as text",
			Excerpt(path.String()))
	}
	if bytes.Contains(data, []byte("-0")) {
		value = withoutNegativeZero(value)
	}
	return value, nil
}

// pastInt64 returns the path of the first number that does not fit 64 bits; the second result is false if there is none. API servers read such a number
// as a float, so they would store another number than the author wrote.
func pastInt64(value any, path jsonpointer.Pointer) (jsonpointer.Pointer, bool) {
	const limit = 1 << 63
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if at, found := pastInt64(v[key], append(path, key)); found {
				return at, true
			}
		}
	case []any:
		for i := range v {
			if at, found := pastInt64(v[i], append(path, strconv.Itoa(i))); found {
				return at, true
			}
		}
	case float64:
		return path, v >= limit || v <= -limit
	}
	return nil, false
}

// withoutNegativeZero replaces -0.0 by 0. Without this, -0.0 would change when it is written as JSON and read again, and so would the
// digest of a rendering. No other number changes in this way.
func withoutNegativeZero(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = withoutNegativeZero(v[key])
		}
	case []any:
		for i := range v {
			v[i] = withoutNegativeZero(v[i])
		}
	case float64:
		if v == 0 {
			return int64(0)
		}
	}
	return value
}
