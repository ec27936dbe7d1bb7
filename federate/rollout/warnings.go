// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// Warnings are about settings that the author may not intend: waves without members, and limits that never act. placed are the members
// that the placement selects at present. If there are none, Warnings does not judge the waves.
func (p *Plan) Warnings(placed []selection.Member) []string {
	var out []string
	if isAll(p.maxUnavailable) {
		out = append(out, "spec.rollout.maxUnavailable: 100% limits nothing: all members may change at once")
	}
	members := make([]int, len(p.waves))
	for _, m := range placed {
		members[p.waveOf(m)]++
	}
	for i := range p.waves {
		w, field := &p.waves[i], fmt.Sprintf("spec.rollout.waves[%d]", i)
		if isAll(w.MaxConcurrent) {
			out = append(out, field+".maxConcurrent: 100% limits nothing: all members of the wave may change at once")
		}
		switch {
		case len(placed) == 0:
		case members[i] == 0 && w.Name != Rest:
			out = append(out, fmt.Sprintf("%s.clusters: wave %s has no placed member at present, so it is passed: "+
				"spec.placement or an earlier wave decides on the members that it selects", field, w.Name))
		case w.MaxFailures > 0 && members[i] > 0 && w.MaxFailures >= members[i]:
			out = append(out, fmt.Sprintf("%s.maxFailures: %d may fail, and wave %s has no more placed members than that at present, so no failure in it stops the rollout",
				field, w.MaxFailures, w.Name))
		}
	}
	return out
}

// isAll reports whether an amount is all members, however many there are.
func isAll(a *intstr.IntOrString) bool {
	return a != nil && a.Type == intstr.String && a.StrVal == "100%"
}
