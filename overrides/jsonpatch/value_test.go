// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"testing"

	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

func TestEqualComparesAsRFC6902Does(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b string
		same bool
	}{
		"an integer and a float of the same value":       {`1`, `1.0`, true},
		"a float and an integer of the same value":       {`[1e2]`, `[100]`, true},
		"an integer and a slightly larger float":         {`1`, `1.5`, false},
		"integers past 2^53":                             {`9007199254740993`, `9007199254740992`, false},
		"an integer past 2^53 and its next float":        {`9007199254740993`, `9007199254740993.0`, false},
		"the largest integer and the next float":         {`9223372036854775807`, `9223372036854774784.0`, false},
		"a number and its text":                          {`1`, `"1"`, false},
		"null and null":                                  {`null`, `null`, true},
		"null and false":                                 {`null`, `false`, false},
		"objects in another order":                       {`{"a":1,"b":[2]}`, `{"b":[2],"a":1.0}`, true},
		"an object and the same with one more key":       {`{"a":1}`, `{"a":1,"b":null}`, false},
		"an object with a null and one with another key": {`{"a":null}`, `{"b":null}`, false},
		"lists in another order":                         {`[1,2]`, `[2,1]`, false},
		"a list and an object":                           {`[]`, `{}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := strictjson.DecodeValue([]byte(tc.a))
			if err != nil {
				t.Fatal(err)
			}
			b, err := strictjson.DecodeValue([]byte(tc.b))
			if err != nil {
				t.Fatal(err)
			}
			if Equal(a, b) != tc.same || Equal(b, a) != tc.same {
				t.Errorf("Equal(a, b) = %v and Equal(b, a) = %v, want %v", Equal(a, b), Equal(b, a), tc.same)
			}
		})
	}
}
