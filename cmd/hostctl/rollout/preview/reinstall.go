// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// reinstall tells which operators the manager would reinstall on a member, what it removes, and what stays; "" if it reinstalls none.
// The host knows the version that the member reports and the target that it has now: OLM may have begun to install that target.
// Whether the manager keeps the operator, because a removal is not safe, only the member can tell. Nor does the host tell whether the
// manager runs with the flag, so the text names it.
func (c *comparison) reinstall(member string, before, after *render.Variant) (string, error) {
	if !c.proposal.Wrapper.WrapperSpec().Upgrade.Reinstalls() {
		return "", nil
	}
	targets, err := targetsOf(after)
	if err != nil {
		return "", err
	}
	was, err := targetsOf(before)
	if err != nil {
		return "", err
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		installed := []string{was[name]}
		if line := c.lines[member]; line != nil {
			installed = append(installed, line.Version)
		}
		for _, csv := range installed {
			if upgrade.IsLater(csv, targets[name]) {
				all = append(all, fmt.Sprintf("%s is later than target %s: the manager, if it runs with --reinstall-operators, removes Subscription %s and the ClusterServiceVersions of its operator, "+
					"and creates the Subscription again; CRDs and custom resources stay; no operator runs in between", csv, targets[name], name))
				break
			}
		}
	}
	return strings.Join(all, "; "), nil
}

// targetsOf returns the targets of the Subscriptions in a rendering; nil for no rendering.
func targetsOf(variant *render.Variant) (map[string]string, error) {
	if variant == nil {
		return nil, nil //nolint:nilnil // a member without a rendering has no targets
	}
	made, err := variant.Render()
	if err != nil {
		return nil, err
	}
	all, err := made.Targets()
	if err != nil {
		return nil, err
	}
	targets := make(map[string]string, len(all))
	for _, t := range all {
		if t.CSV != "" {
			targets[t.Name] = t.CSV
		}
	}
	return targets, nil
}
