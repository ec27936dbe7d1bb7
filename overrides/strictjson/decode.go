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

// MaxDepth is the greatest depth of JSON in a wrapper, and in the objects rendered from it.
const MaxDepth = 100

// errNotObject is the error for JSON that is not an object.
var errNotObject = errors.New("it is not a JSON object")

// Decode reads one wrapped object. Integers stay integers, whatever their size up to 64 bits.
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

// Bytes returns the JSON of a wrapped object. The object may also be a typed object that a Go program has set.
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

// DecodeObject reads JSON that is an object, as DecodeValue does.
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

// DecodeValue reads JSON of any form, at most MaxDepth deep. It refuses numbers that would change on the way.
func DecodeValue(data []byte) (any, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, errors.New("it is empty")
	}
	if d := Depth(data); d > MaxDepth {
		return nil, fmt.Errorf("it is nested %d deep, %d at most", d, MaxDepth)
	}
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, fmt.Errorf("it is not JSON: %w", err)
	}
	if path, found := pastInt64(value, nil); found {
		// The message does not name the number: it may be secret, and the decoder has changed it already.
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

// pastInt64 finds a number that does not fit 64 bits. Every API server reads such a number as a float. So another
// number arrives than the author wrote, and the original cannot be recovered.
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

// withoutNegativeZero writes -0.0 as 0. It is the only number that changes when JSON is written and read again, and the
// digest of the rendering would change with it.
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
