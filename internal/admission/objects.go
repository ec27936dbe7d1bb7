// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"iter"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// objectsOf iterates over the objects of one kind in a wrapper, with their indexes in spec.objects. It leaves out objects
// that it cannot decode, because overrides.Validate reports them.
func objectsOf(spec *v1alpha1.WrapperSpec, kind schema.GroupKind) iter.Seq2[int, *unstructured.Unstructured] {
	return func(yield func(int, *unstructured.Unstructured) bool) {
		for i := range spec.Objects {
			obj, err := strictjson.Decode(spec.Objects[i])
			if err != nil || obj.GroupVersionKind().GroupKind() != kind {
				continue
			}
			if !yield(i, obj) {
				return
			}
		}
	}
}
