// SPDX-License-Identifier: Apache-2.0

package author

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Found is a wrapper in the input.
type Found struct {
	Where
	Wrapper v1alpha1.Wrapper
}

// ParseWrappers decodes the wrappers of all sources, in order, and skips other objects. It checks each wrapper against
// the schema of its CRD, as the host's API server would, so that an error names the field. The error contains all
// faults.
func ParseWrappers(sources []Source) ([]Found, []Note, error) {
	manifests, notes, found := parseAll(sources, MaxOutput)
	var wrappers []Found
	for _, m := range manifests {
		var w v1alpha1.Wrapper
		switch gvk := m.Object.GroupVersionKind(); gvk {
		case v1alpha1.GroupVersion.WithKind(string(v1alpha1.KindFederated)):
			w = &v1alpha1.Federated{}
		case v1alpha1.GroupVersion.WithKind(string(v1alpha1.KindClusterFederated)):
			w = &v1alpha1.ClusterFederated{}
		default:
			continue
		}
		if misfits := misfits(m); len(misfits) > 0 {
			for _, err := range misfits {
				found.add(err)
			}
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(m.Object.Object, w, true); err != nil {
			for _, fault := range unknownFields(m, err) {
				found.add(fault)
			}
			continue
		}
		wrappers = append(wrappers, Found{Where: m.Where, Wrapper: w})
	}
	if len(wrappers) == 0 && len(found.told) == 0 {
		found.add(fmt.Errorf("reading %s: there is no Federated or ClusterFederated in it; hostctl federate writes them", manifests[0].Source))
	}
	return wrappers, notes, found.err()
}

// unknownFields returns an error for each field of m that a wrapper does not have. err is the error of the strict
// decoder.
func unknownFields(m Manifest, err error) []error {
	strict, isStrict := runtime.AsStrictDecodingError(err)
	if !isStrict {
		return []error{&Error{Where: m.Where, Text: err.Error()}}
	}
	var all []error
	for _, one := range strict.Errors() {
		text := one.Error()
		if quoted, is := strings.CutPrefix(text, "unknown field "); is {
			if field, err := strconv.Unquote(quoted); err == nil {
				all = append(all, &Error{Where: m.Where, Field: field, Text: "is not a field of a " + m.Object.GetKind()})
				continue
			}
		}
		all = append(all, &Error{Where: m.Where, Text: text})
	}
	return all
}
