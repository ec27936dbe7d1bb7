// SPDX-License-Identifier: Apache-2.0

package strictjson

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestNullsAreFoundByPath(t *testing.T) {
	const head = `{"apiVersion":"example.com/v1","kind":"Gauge","metadata":{"name":"g","creationTimestamp":null},`
	for name, tc := range map[string]struct {
		object string
		want   []string
	}{
		"none":                                  {head + `"spec":{"a":0,"b":"","c":[],"d":{}}}`, nil},
		"a field":                               {head + `"spec":{"cephfs":null}}`, []string{"spec.cephfs"}},
		"a null spec":                           {head + `"spec":null}`, []string{"spec"}},
		"a null in a list":                      {head + `"spec":{"list":[1,null,[null],{"a":null}]}}`, []string{"spec.list[1]", "spec.list[2][0]", "spec.list[3].a"}},
		"a key with dots":                       {head + `"spec":{"a.b/c":null}}`, []string{"spec[a.b/c]"}},
		"nulls are listed in the order of keys": {head + `"spec":{"b":null,"a":{"c":null}}}`, []string{"spec.a.c", "spec.b"}},
		"a null that Go prints":                 {head + `"spec":{"template":{"metadata":{"creationTimestamp":null}}}}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			object, err := Decode(runtime.RawExtension{Raw: []byte(tc.object)})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, null := range Nulls(object.Object, nil) {
				got = append(got, null.Field.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
