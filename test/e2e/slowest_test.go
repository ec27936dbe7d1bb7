// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// slowestShown is the length of the list of the slowest specs.
const slowestShown = 15

// The list shows which specs the suite waits for. It is the first place to look when the suite has to become faster.
var _ = ReportAfterSuite("the slowest specs", func(report Report) {
	specs := slices.Clone(report.SpecReports.WithLeafNodeType(types.NodeTypeIt))
	slices.SortFunc(specs, func(a, b types.SpecReport) int { return cmp.Compare(b.RunTime, a.RunTime) })
	fmt.Printf("\nThe slowest specs:\n")
	for _, s := range specs[:min(len(specs), slowestShown)] {
		fmt.Printf("%6.0fs  %s: %s\n", s.RunTime.Round(time.Second).Seconds(), s.LeafNodeLocation.String(), s.FullText())
	}
})
