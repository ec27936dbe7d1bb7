// SPDX-License-Identifier: Apache-2.0

package push

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestTheOperatorThatOLMLeavesIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		installed string // what the status of the Subscription says
		exists    bool   // the member has such a CSV
		policy    v1alpha1.DeletionPolicy
		left      bool
	}{
		"the wrapper leaves":                 {installed: "db.v1.0.0", exists: true, policy: v1alpha1.KeepData, left: true},
		"under DeleteAll":                    {installed: "db.v1.0.0", exists: true, policy: v1alpha1.DeleteAll, left: true},
		"under KeepAll the Subscription too": {installed: "db.v1.0.0", exists: true, policy: v1alpha1.KeepAll},
		"somebody removed the operator":      {installed: "db.v1.0.0"},
		"OLM has installed nothing":          {exists: true},
		"a name that no object can have":     {installed: "../../pods", exists: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newOLMSite(t)
			s.mustDeliver(s.want(`{apiVersion: ` + olmVersion + `, kind: Subscription, metadata: {name: db},
				spec: {name: db, channel: stable, source: operators, sourceNamespace: olm}}`))
			s.offers(s.get(olmVersion, "Subscription", "db"), test.installed, "db.v1.1.0", "install-1")
			if test.exists {
				s.installed("db.v1.0.0", "Succeeded")
			}
			out := s.mustPush(s.leaveWith(test.policy))
			if !out.Done {
				t.Fatalf("%s %s: %s", out.State, out.Reason, out.Message)
			}
			var want []Kept
			if test.left {
				want = []Kept{{Reason: v1alpha1.ReasonOperatorLeft, Object: "ClusterServiceVersion " + s.namespace + "/db.v1.0.0",
					Why: "OLM leaves an operator when its Subscription is deleted"}}
			}
			if diff := cmp.Diff(want, out.Kept); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if test.exists && s.get(olmVersion, "ClusterServiceVersion", "db.v1.0.0") == nil {
				t.Error("the manager deleted the CSV")
			}
		})
	}
}
