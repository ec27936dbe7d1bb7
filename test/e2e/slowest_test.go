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

// longFirst is for containers that keep one process busy for minutes: they are Ordered, or one of their specs takes that long. If such a
// container began last, the other process would have nothing to do at the end.
const longFirst = SpecPriority(1)

// The list shows which specs the suite waits for. It is the first place to look when the suite has to become faster. If the sums of the
// processes differ by more than a minute, a long container began late: it has to be longFirst.
var _ = ReportAfterSuite("the slowest specs", func(report Report) {
	specs := slices.Clone(report.SpecReports.WithLeafNodeType(types.NodeTypeIt))
	slices.SortFunc(specs, func(a, b types.SpecReport) int { return cmp.Compare(b.RunTime, a.RunTime) })
	fmt.Printf("\nSeconds in specs, for each process:")
	for process := 1; process <= report.SuiteConfig.ParallelTotal; process++ {
		var busy time.Duration
		for _, s := range specs {
			if s.ParallelProcess == process {
				busy += s.RunTime
			}
		}
		fmt.Printf(" %.0f", busy.Seconds())
	}
	fmt.Printf("\nThe slowest specs:\n")
	for _, s := range specs[:min(len(specs), slowestShown)] {
		fmt.Printf("%6.0fs  %s: %s\n", s.RunTime.Round(time.Second).Seconds(), s.LeafNodeLocation.String(), s.FullText())
	}
})
