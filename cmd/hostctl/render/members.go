// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/federate/placement"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// chosen is a member for which to render a wrapper.
type chosen struct {
	selection.Member
	// placed is true if spec.placement selects the member, and false if only a flag chose it.
	placed bool
}

// choose returns the members for which to render a wrapper, sorted by name: those that the flags choose, or by default those that the
// wrapper's placement selects.
func (o *Options) choose(w sourced, members []selection.Member) ([]chosen, error) {
	for _, name := range o.Clusters {
		if !slices.ContainsFunc(members, func(m selection.Member) bool { return m.Name == name }) {
			return nil, fmt.Errorf("choosing clusters: there is no cluster %s; there %s", name, listed(members))
		}
	}
	clusters := w.WrapperSpec().Placement.Clusters
	if clusters == nil {
		clusters = &v1alpha1.ClusterSelection{}
	}
	placement, err := selection.New(clusters)
	if err != nil {
		return nil, fmt.Errorf("reading %s: spec.placement.clusters: %w", w.title(), err)
	}
	var out []chosen
	for _, m := range members {
		placed := placement.Selects(m)
		if o.isChosen(m) || placed && !o.hasChoice() {
			out = append(out, chosen{Member: m, placed: placed})
		}
	}
	slices.SortFunc(out, func(a, b chosen) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// noteUnknown prints a note for each member that the wrapper names and that has no MemberCluster. With --assume-cluster it prints nothing:
// the user then gives only some members of the fleet.
func (o *Options) noteUnknown(w sourced, members []selection.Member) {
	if len(o.assumed) > 0 {
		return
	}
	registered := func(name string) bool {
		return slices.ContainsFunc(members, func(m selection.Member) bool { return m.Name == name })
	}
	for _, unknown := range placement.UnknownNames(w.WrapperSpec(), registered) {
		fmt.Fprintf(o.ErrOut, "note: %s: %s\n", w.title(), unknown)
	}
}

// hasChoice reports whether the user gave --cluster or --cluster-selector.
func (o *Options) hasChoice() bool { return len(o.Clusters)+len(o.selectors) > 0 }

func (o *Options) isChosen(m selection.Member) bool {
	return slices.Contains(o.Clusters, m.Name) ||
		slices.ContainsFunc(o.selectors, func(s labels.Selector) bool { return s.Matches(labels.Set(m.Labels)) })
}

func listed(members []selection.Member) string {
	if len(members) == 0 {
		return "are none"
	}
	const most = 10
	names := make([]string, 0, len(members))
	for _, m := range members {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	if len(names) == 1 {
		return "is " + names[0]
	}
	return "are " + strings.Join(names, ", ")
}

// parseMember parses a value of --assume-cluster: NAME,LABEL=VALUE,…
func parseMember(text string) (selection.Member, error) {
	parts := strings.Split(text, ",")
	if problems := validation.IsDNS1123Label(parts[0]); len(problems) > 0 {
		return selection.Member{}, exit.Usagef(
			"--assume-cluster %q: it must begin with the cluster's name, as in eu-1,cloud=aws: %s", text, problems[0])
	}
	member := selection.Member{Name: parts[0], Labels: map[string]string{}}
	for _, part := range parts[1:] {
		key, value, found := strings.Cut(part, "=")
		if problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...); !found || len(problems) > 0 {
			return selection.Member{}, exit.Usagef("--assume-cluster %q: %q is not LABEL=VALUE%s", text, part, because(problems))
		}
		member.Labels[key] = value
	}
	return member, nil
}

func because(problems []string) string {
	if len(problems) == 0 {
		return ""
	}
	return ": " + problems[0]
}

// ParseName parses the name of a wrapper in an argument: NAME or fed/NAME for a Federated, cfed/NAME for a ClusterFederated.
func ParseName(text string) (v1alpha1.WrapperKind, string, error) {
	kind, name, found := strings.Cut(text, "/")
	if !found {
		kind, name = "fed", text
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "", "", exit.Usagef("%q is not the name of a wrapper: %s", text, problems[0])
	}
	if parsed, ok := connect.ParseKind(kind); ok {
		return parsed, name, nil
	}
	return "", "", exit.Usagef("%q: give NAME for a Federated, cfed/NAME for a ClusterFederated", text)
}
