// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// Warnings returns warnings about settings that the author may not intend: waves without members, and limits without
// effect. placed has the members that the placement selects now. If placed is empty, Warnings does not check the members
// of waves.
func (p *Plan) Warnings(placed []selection.Member) []string {
	var out []string
	if isAll(p.maxUnavailable) {
		out = append(out, "spec.rollout.maxUnavailable: 100% limits nothing: all members may change at the same time")
	}
	members := make([]int, len(p.waves))
	for _, m := range placed {
		members[p.waveOf(m)]++
	}
	for i := range p.waves {
		w, field := &p.waves[i], fmt.Sprintf("spec.rollout.waves[%d]", i)
		if isAll(w.MaxConcurrent) {
			out = append(out, field+".maxConcurrent: 100% limits nothing: all members of the wave may change at the same time")
		}
		switch {
		case len(placed) == 0:
		case members[i] == 0 && w.Name != Rest:
			out = append(out, fmt.Sprintf("%s.clusters: wave %s has no placed member now, so the rollout passes it at once: "+
				"the members that it selects are not placed, or belong to an earlier wave", field, w.Name))
		case w.MaxFailures > 0 && members[i] > 0 && w.MaxFailures >= members[i]:
			out = append(out, fmt.Sprintf("%s.maxFailures: no failure in wave %s stops the rollout, because maxFailures (%d) is not less than the number of placed members that the wave has now (%d)",
				field, w.Name, w.MaxFailures, members[i]))
		}
	}
	return out
}

// isAll reports whether an amount is 100%, so that it limits nothing.
func isAll(a *intstr.IntOrString) bool {
	return a != nil && a.Type == intstr.String && a.StrVal == "100%"
}
