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

func TestWarningsOfNullsNamePathAndObject(t *testing.T) {
	gauge := func(fields string) runtime.RawExtension {
		return runtime.RawExtension{Raw: fmt.Appendf(nil, `{"apiVersion":"example.com/v1","kind":"Gauge","metadata":{"name":"g"},"spec":{%s}}`, fields)}
	}
	spec := &v1alpha1.WrapperSpec{Objects: []runtime.RawExtension{gauge(`"size":1`), {Raw: []byte("{")}, gauge(`"cephfs":null`)}}
	want := []string{"spec.objects[2].spec.cephfs of Gauge g is null: remove the field, because members refuse null in a field that is not nullable"}
	if diff := cmp.Diff(want, Warnings(spec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	spec.Objects = []runtime.RawExtension{gauge(`"a":null,"b":null,"c":null,"d":null,"e":null,"f":null,"g":null`)}
	got := Warnings(spec)
	if len(got) != maxNulls+1 || !strings.HasPrefix(got[maxNulls], "2 more fields of spec.objects are null") {
		t.Errorf("%d warnings: %q", len(got), got)
	}
}
