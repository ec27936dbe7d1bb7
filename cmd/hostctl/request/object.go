// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// Object returns the object of a wrapper that --object names as KIND/NAME, or as KIND.GROUP/NAME if the wrapper has two with the same
// kind and name. It compares kinds without regard to upper and lower case. Its errors name the flag --object.
func Object(w v1alpha1.Wrapper, text string) (v1alpha1.ReportedObject, error) {
	none := v1alpha1.ReportedObject{}
	resource, name, ok := strings.Cut(text, "/")
	if !ok || resource == "" || name == "" {
		return none, exit.Usagef("--object %s: give KIND/NAME, for example Deployment/web", text)
	}
	kind, group, withGroup := strings.Cut(resource, ".")
	var found []v1alpha1.ReportedObject
	for _, o := range evidencerequest.Objects(w) {
		if strings.EqualFold(o.Kind, kind) && o.Name == name && (!withGroup || o.Group == group) {
			found = append(found, o)
		}
	}
	switch {
	case len(Objects(w)) == 0:
		return none, exit.Usagef("--object %s: %s has no objects", text, render.TitleOf(w))
	case len(found) == 0:
		return none, exit.Usagef("--object %s: %s has no such object; it has %s", text, render.TitleOf(w), messages.Few(Objects(w), evidence.MaxKnown))
	case len(found) > 1:
		return none, exit.Usagef("--object %s: %s has %d such objects; give the group too: %s/%s or %s/%s", text, render.TitleOf(w), len(found),
			withGroupOf(found[0]), name, withGroupOf(found[1]), name)
	case found[0].Kind == "Secret" && found[0].Group == "":
		return none, exit.Usagef("--object %s: collectors read no Secrets, so there are neither logs nor events of one", text)
	}
	return found[0], nil
}

func withGroupOf(o v1alpha1.ReportedObject) string {
	return o.Kind + "." + o.Group
}

// Objects returns the objects of a wrapper in the form that --object accepts, sorted.
func Objects(w v1alpha1.Wrapper) []string {
	var names []string
	for _, o := range evidencerequest.Objects(w) {
		names = append(names, evidencerequest.Ref(&o))
	}
	slices.Sort(names)
	return slices.Compact(names)
}
