// SPDX-License-Identifier: Apache-2.0

package evidencerequest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Objects returns the objects that a wrapper lists, each once, in their order. It leaves out what has no kind or no name: admission
// refuses it, and the manager does not push it.
func Objects(w v1alpha1.Wrapper) []v1alpha1.ReportedObject {
	raw := w.WrapperSpec().Objects
	all := make([]v1alpha1.ReportedObject, 0, len(raw))
	for i := range raw {
		var is struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if json.Unmarshal(raw[i].Raw, &is) != nil || is.Kind == "" || is.Metadata.Name == "" {
			continue
		}
		o := v1alpha1.ReportedObject{Kind: is.Kind, Name: is.Metadata.Name}
		if group, _, ok := strings.Cut(is.APIVersion, "/"); ok {
			o.Group = group
		}
		if !slices.Contains(all, o) {
			all = append(all, o)
		}
	}
	return all
}
