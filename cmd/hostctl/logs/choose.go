// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/evidence"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// choose returns the reports that the flags select, each with the containers that the flags select. It returns an error for an object
// or a container that no report has, if there are others.
func (o *Options) choose(w v1alpha1.Wrapper, all []v1alpha1.MemberReport) ([]v1alpha1.MemberReport, error) {
	var chosen []v1alpha1.MemberReport
	for i := range all {
		if evidence.IsAbout(&all[i], w, o.Clusters) {
			chosen = append(chosen, *all[i].DeepCopy())
		}
	}
	if known := objectsOf(chosen); o.Object != "" && len(known) > 0 {
		chosen = slices.DeleteFunc(chosen, func(r v1alpha1.MemberReport) bool { return !strings.EqualFold(objectOf(&r), o.Object) })
		if len(chosen) == 0 {
			return nil, exit.Usagef("--object %s: there is no report about this object of %s; there are reports about %s", o.Object,
				render.TitleOf(w), messages.Few(known, evidence.MaxKnown))
		}
	}
	if known := containersOf(chosen); o.Container != "" && len(known) > 0 {
		if !slices.Contains(known, o.Container) {
			return nil, exit.Usagef("--container %s: no failing container of %s has this name; there are %s", o.Container,
				render.TitleOf(w), messages.Few(known, evidence.MaxKnown))
		}
		for i := range chosen {
			s := &chosen[i].Status
			s.Containers = slices.DeleteFunc(s.Containers, func(c v1alpha1.ObservedContainer) bool { return c.Name != o.Container })
		}
		chosen = slices.DeleteFunc(chosen, func(r v1alpha1.MemberReport) bool { return len(r.Status.Containers) == 0 })
	}
	return chosen, nil
}

// objectOf returns the object of a report as --object takes it.
func objectOf(r *v1alpha1.MemberReport) string {
	return r.Status.Object.Kind + "/" + r.Status.Object.Name
}

// objectsOf returns the objects of the reports as --object takes them, sorted.
func objectsOf(reports []v1alpha1.MemberReport) []string {
	var names []string
	for i := range reports {
		names = append(names, objectOf(&reports[i]))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// containersOf returns the names of the containers of the reports, sorted.
func containersOf(reports []v1alpha1.MemberReport) []string {
	var names []string
	for i := range reports {
		for j := range reports[i].Status.Containers {
			names = append(names, reports[i].Status.Containers[j].Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// lastLines returns the last lines of a log, up to most; with -1 all of them.
func lastLines(log string, most int) []string {
	lines := strings.Split(strings.TrimRight(log, "\n"), "\n")
	if log == "" || most == 0 {
		return nil
	}
	if most > 0 && len(lines) > most {
		lines = lines[len(lines)-most:]
	}
	return lines
}
