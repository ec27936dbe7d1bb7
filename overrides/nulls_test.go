// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestNullsAreFoundByPath(t *testing.T) {
	const head = `{"apiVersion":"example.com/v1","kind":"Gauge","metadata":{"name":"g","creationTimestamp":null},`
	for name, tc := range map[string]struct {
		object string
		want   []string
	}{
		"none":                  {head + `"spec":{"a":0,"b":"","c":[],"d":{}}}`, nil},
		"a field":               {head + `"spec":{"cephfs":null}}`, []string{"spec.cephfs"}},
		"the spec":              {head + `"spec":null}`, []string{"spec"}},
		"in a list":             {head + `"spec":{"list":[1,null,[null],{"a":null}]}}`, []string{"spec.list[1]", "spec.list[2][0]", "spec.list[3].a"}},
		"a key with dots":       {head + `"spec":{"a.b/c":null}}`, []string{"spec[a.b/c]"}},
		"in the order of keys":  {head + `"spec":{"b":null,"a":{"c":null}}}`, []string{"spec.a.c", "spec.b"}},
		"what Go prints itself": {head + `"spec":{"template":{"metadata":{"creationTimestamp":null}}}}`, nil},
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

func TestNullsAreWarnedOfWithPathAndObject(t *testing.T) {
	gauge := func(fields string) runtime.RawExtension {
		return runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion":"example.com/v1","kind":"Gauge","metadata":{"name":"g"},"spec":{%s}}`, fields)}
	}
	spec := &v1alpha1.WrapperSpec{Objects: []runtime.RawExtension{gauge(`"size":1`), {Raw: []byte("{")}, gauge(`"cephfs":null`)}}
	want := []string{"spec.objects[2].spec.cephfs of Gauge g is null: take it out, members refuse null where a field is not nullable"}
	if diff := cmp.Diff(want, Warnings(spec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	spec.Objects = []runtime.RawExtension{gauge(`"a":null,"b":null,"c":null,"d":null,"e":null,"f":null,"g":null`)}
	got := Warnings(spec)
	if len(got) != maxNulls+1 || !strings.HasPrefix(got[maxNulls], "2 more fields of spec.objects are null") {
		t.Errorf("%d warnings: %q", len(got), got)
	}
}
