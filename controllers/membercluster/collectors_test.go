// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
)

func TestWhatTheHostDoesForACollector(t *testing.T) {
	for name, test := range map[string]struct {
		mode   v1alpha1.CollectorMode
		grants []string
		want   task
	}{
		"one of its own runs in it":                               {v1alpha1.CollectorHost, []string{"any"}, observe},
		"one elsewhere is let read what comes, of every group":    {v1alpha1.CollectorExternal, []string{"any"}, letRead},
		"one elsewhere has what the groups granted name":          {v1alpha1.CollectorExternal, join.DefaultGrants(), nothing},
		"one elsewhere gets nothing while the grants are unknown": {v1alpha1.CollectorExternal, nil, nothing},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, taskFor(test.mode, test.grants)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
