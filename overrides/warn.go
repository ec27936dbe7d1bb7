// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// maxNulls is the greatest number of nulls of one wrapper for which the function Warnings returns a warning each. One
// further warning counts the other nulls.
const maxNulls = 5

// Warnings returns warnings about nulls in the objects of a spec: the host accepts them, but a member may refuse them. Objects that cannot be decoded are
// left out, because Validate reports them.
func Warnings(spec *v1alpha1.WrapperSpec) []string {
	var warnings []string
	count := 0
	for i := range spec.Objects {
		object, err := strictjson.Decode(spec.Objects[i])
		if err != nil {
			continue
		}
		for _, null := range strictjson.Nulls(object.Object, field.NewPath("spec", "objects").Index(i)) {
			if count++; count <= maxNulls {
				warnings = append(warnings, fmt.Sprintf("%s of %s %s is null: remove the field, because members refuse null in a field that is not nullable",
					null.Field, object.GetKind(), object.GetName()))
			}
		}
	}
	if count > maxNulls {
		warnings = append(warnings, fmt.Sprintf("%d more fields of spec.objects are null; `hostctl federate` leaves them out", count-maxNulls))
	}
	return warnings
}
