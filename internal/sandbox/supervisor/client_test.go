// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAWaitCountsTheEndsOfAProcessSinceItBegan(t *testing.T) {
	for name, test := range map[string]struct{ restarts, want []int }{
		"a process that was killed often before the wait": {[]int{6, 6, 7}, []int{0, 0, 1}},
		"a process that ends again and again":             {[]int{0, 2, 4, 6}, []int{0, 2, 4, 6}},
		"a supervisor that was started again":             {[]int{5, 0, 2}, []int{0, 0, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			c := endCounts{}
			var got []int
			for _, n := range test.restarts {
				c.observe("another", 100*n)
				got = append(got, c.observe("server", n))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("ends that each call of observe returned (-want +got):\n%s", diff)
			}
		})
	}
}
