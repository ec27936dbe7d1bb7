// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// A spec that calls Skip counts as skipped, as do the specs that a filter leaves out, and ginkgo prints one number for all. So this report
// tells how many specs a label leaves out with kind, and fails if a spec called Skip: such a spec would have to have a label.
var _ = ReportAfterSuite("the specs that kind leaves out", func(report Report) {
	if provider.Chosen() != provider.Kind {
		return
	}
	lines, skipped := leftOut(report.SpecReports.WithLeafNodeType(types.NodeTypeIt))
	fmt.Printf("\n%s\n", strings.Join(lines, "\n"))
	if report.SuiteSucceeded && len(skipped) > 0 { // after a failure ginkgo itself skips specs
		Fail("a spec that cannot run with kind has to have a label of needs_test.go, and must not call Skip:\n" + strings.Join(skipped, "\n"))
	}
})

// leftOut returns a line for each label with specs that did not run, and a line for each spec that called Skip.
func leftOut(specs types.SpecReports) (lines, skipped []string) {
	counts := map[string]int{}
	for _, s := range specs {
		switch {
		case s.State != types.SpecStateSkipped:
		case s.Failure.Message != "": // a filter gives no message
			skipped = append(skipped, fmt.Sprintf("%s: %s: %s", s.LeafNodeLocation.String(), s.FullText(), s.Failure.Message))
		default:
			for _, label := range s.Labels() {
				counts[label]++
			}
		}
	}
	for _, need := range needs() {
		if n := counts[need[0]]; n > 0 {
			lines = append(lines, fmt.Sprintf("left out with kind: %d specs with the label %s", n, need[0]))
		}
	}
	if n := counts[needsOtherKubernetes[0]]; n > 0 && !hasOtherKubernetes() {
		lines = append(lines, fmt.Sprintf("not run: %d specs of another Kubernetes; set KIND_OTHER_NODE_IMAGE", n))
	}
	return lines, skipped
}

func TestASpecThatCallsSkipIsNotLeftOutByALabel(t *testing.T) {
	spec := func(state types.SpecState, message string, labels ...string) types.SpecReport {
		return types.SpecReport{State: state, LeafNodeText: "does it", LeafNodeLabels: labels, Failure: types.Failure{Message: message}}
	}
	specs := types.SpecReports{
		spec(types.SpecStatePassed, ""),
		spec(types.SpecStateSkipped, "", "olm"),
		spec(types.SpecStateSkipped, "", "olm", "processes"),
		spec(types.SpecStateSkipped, "", "kubelet", "other-kubernetes"),
		spec(types.SpecStateSkipped, ""), // FOCUS does not match it
		spec(types.SpecStateSkipped, "the machine is slow", "kubelet"),
	}
	for image, other := range map[string][]string{
		"":                           {"not run: 1 specs of another Kubernetes; set KIND_OTHER_NODE_IMAGE"},
		"kindest/node:v1.35.4-local": nil, // FOCUS leaves it out
	} {
		t.Setenv("KIND_OTHER_NODE_IMAGE", image)
		lines, skipped := leftOut(specs)
		want := append([]string{"left out with kind: 1 specs with the label processes", "left out with kind: 2 specs with the label olm"}, other...)
		if diff := cmp.Diff(want, lines); diff != "" {
			t.Error(diff)
		}
		if len(skipped) != 1 || !strings.HasSuffix(skipped[0], "does it: the machine is slow") {
			t.Errorf("%q", skipped)
		}
	}
}

func TestTheFilterOfKindLeavesOutWhatKindCannotRun(t *testing.T) {
	for name, tc := range map[string]struct {
		given, image string
		labels       []string
		want         bool
	}{
		"no label":                                         {labels: nil, want: true},
		"a spec with kubelets":                             {labels: []string{"kubelet"}, want: true},
		"a spec that needs the sandbox's OLM":              {labels: []string{"olm"}, want: false},
		"a spec of another Kubernetes, without its image":  {labels: []string{"kubelet", "other-kubernetes"}, want: false},
		"a spec of another Kubernetes, with its image":     {image: "kindest/node:v1.35.4", labels: []string{"kubelet", "other-kubernetes"}, want: true},
		"a filter of the caller":                           {given: "kubelet", labels: []string{"kubelet"}, want: true},
		"a filter of the caller that matches no label":     {given: "kubelet || olm", labels: []string{"processes"}, want: false},
		"a filter of the caller, and no other Kubernetes":  {given: "kubelet || olm", labels: []string{"kubelet", "other-kubernetes"}, want: false},
		"a filter of the caller takes the place of kind's": {given: "kubelet || olm", labels: []string{"olm"}, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KIND_OTHER_NODE_IMAGE", tc.image)
			matches, err := types.ParseLabelFilter(metByKind(tc.given))
			if err != nil {
				t.Fatal(err)
			}
			if got := matches(slices.Clone(tc.labels)); got != tc.want {
				t.Errorf("%s: %t", metByKind(tc.given), got)
			}
		})
	}
}
