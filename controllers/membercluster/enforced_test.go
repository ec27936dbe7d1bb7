// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// A person edits spec.namespacePolicy on the host, but not the policy on the member. The member then still enforces its
// own policy, and Ready must report the difference.
func TestANamespacePolicyThatTheMemberDoesNotEnforceIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		here, there v1alpha1.NamespacePolicy
		want        string
	}{
		"the same":                         {here: v1alpha1.NamespacesAll, there: v1alpha1.NamespacesAll},
		"both have the default policy":     {there: v1alpha1.NamespacesManaged},
		"only the host has All":            {here: v1alpha1.NamespacesAll, there: v1alpha1.NamespacesManaged, want: "`hostctl join east --cluster-kubeconfig FILE --namespaces All`"},
		"the member allows more":           {here: v1alpha1.NamespacesManaged, there: v1alpha1.NamespacesAll, want: "the member enforces All"},
		"a member that enforces no policy": {here: v1alpha1.NamespacesManaged, want: "`hostctl join east --cluster-kubeconfig FILE`"},
	} {
		t.Run(name, func(t *testing.T) {
			mc, probe := registered(v1alpha1.CollectorHost), well()
			mc.Spec.NamespacePolicy, probe.NamespacePolicy = test.here, test.there
			statusWriter{probe: probe, now: now}.write(mc)
			ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
			if ready.Reason != v1alpha1.ReasonReady || !strings.Contains(ready.Message, test.want) || test.want == "" && strings.Contains(ready.Message, "enforce") {
				t.Errorf("%s: %s, want %q", ready.Reason, ready.Message, test.want)
			}
		})
	}
}
