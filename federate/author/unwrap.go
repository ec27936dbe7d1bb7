// SPDX-License-Identifier: Apache-2.0

package author

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// ParseWrappers reads the wrappers of all sources, in order, and leaves other objects aside. A field
// that wrappers do not have is an error: a misspelt `override` would otherwise be left out in silence.
func ParseWrappers(sources []Source) ([]v1alpha1.Wrapper, error) {
	manifests, err := parseAll(sources)
	if err != nil {
		return nil, err
	}
	var wrappers []v1alpha1.Wrapper
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
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(m.Object.Object, w, true); err != nil {
			return nil, &Error{Where: m.Where, Text: err.Error()}
		}
		wrappers = append(wrappers, w)
	}
	if len(wrappers) == 0 {
		return nil, fmt.Errorf("reading %s: there is no Federated or ClusterFederated in it; hostctl federate writes them", manifests[0].Source)
	}
	return wrappers, nil
}
