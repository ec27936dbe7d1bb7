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

// choose returns the reports that the flags select, each with the containers that the flags select. Without --object it returns an error
// if the reports have containers, but none with the name in --container. With --object hostctl can ask a member for that container.
func (o *Options) choose(w v1alpha1.Wrapper, all []v1alpha1.MemberReport) ([]v1alpha1.MemberReport, error) {
	var chosen []v1alpha1.MemberReport
	for i := range all {
		if evidence.IsAbout(&all[i], w, o.Clusters) && (o.Object == "" || evidence.IsObject(&all[i], o.Object)) {
			chosen = append(chosen, *all[i].DeepCopy())
		}
	}
	if known := containersOf(chosen); o.Object == "" && o.Container != "" && len(known) > 0 && !slices.Contains(known, o.Container) {
		return nil, exit.Usagef("--container %s: no failing container of %s has this name; there are %s", o.Container,
			render.TitleOf(w), messages.Few(known, evidence.MaxKnown))
	}
	return ofContainer(chosen, o.Container), nil
}

// ofContainer returns the reports that have the container of --container, without their other containers; without --container all of
// them.
func ofContainer(reports []v1alpha1.MemberReport, container string) []v1alpha1.MemberReport {
	if container == "" {
		return reports
	}
	for i := range reports {
		s := &reports[i].Status
		s.Containers = slices.DeleteFunc(slices.Clone(s.Containers), func(c v1alpha1.ObservedContainer) bool { return c.Name != container })
	}
	return slices.DeleteFunc(reports, func(r v1alpha1.MemberReport) bool { return len(r.Status.Containers) == 0 })
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
