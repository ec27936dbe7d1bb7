// SPDX-License-Identifier: Apache-2.0

package join

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// A user who can write MemberClusters at the host may have no rights on the member, so the join must not take the policy
// All from the MemberCluster.
func TestAMemberClusterOpensNoNamespacesOfAMemberThatThisHostNeverJoined(t *testing.T) {
	for name, test := range map[string]struct {
		flag, known, enforced v1alpha1.NamespacePolicy
		owner                 types.UID
		want                  v1alpha1.NamespacePolicy
		note                  string
	}{
		"a new member": {want: v1alpha1.NamespacesManaged},
		"a new member, and a MemberCluster by hand": {known: v1alpha1.NamespacesAll, want: v1alpha1.NamespacesManaged, note: "no join of this host has set it"},
		"a member of another host, and a MemberCluster by hand": {known: v1alpha1.NamespacesAll, enforced: v1alpha1.NamespacesAll, owner: "theirs",
			want: v1alpha1.NamespacesManaged, note: "no join of this host has set it"},
		"a member of this host from before the policy": {known: v1alpha1.NamespacesAll, owner: "ours", want: v1alpha1.NamespacesAll, note: "opens every namespace"},
		"a member of this host":                        {known: v1alpha1.NamespacesAll, enforced: v1alpha1.NamespacesManaged, owner: "ours", want: v1alpha1.NamespacesManaged, note: "which stays"},
		"the user's flag":                              {flag: v1alpha1.NamespacesAll, known: v1alpha1.NamespacesManaged, owner: "theirs", want: v1alpha1.NamespacesAll},
	} {
		t.Run(name, func(t *testing.T) {
			f := found{identity: v1alpha1.HostIdentity{UID: "ours"}, known: &v1alpha1.MemberCluster{}, membership: &v1alpha1.Membership{}}
			f.known.Spec.NamespacePolicy = test.known
			f.membership.Spec.NamespacePolicy, f.membership.Spec.Host.UID = test.enforced, test.owner
			got, note := f.decideNamespaces("east", test.flag)
			if got != test.want || (test.note == "") != (note == "") || !strings.Contains(note, test.note) {
				t.Errorf("%s, not %s; note: %s", got, test.want, note)
			}
		})
	}
}
