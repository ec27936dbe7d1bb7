// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

func TestParseGrants(t *testing.T) {
	for name, tc := range map[string]struct {
		grants  []string
		want    []string
		wantErr string
	}{
		"profiles come first and in their order":       {grants: []string{"example.com/widgets", "olm", "core"}, want: []string{"core", "olm", "example.com/widgets"}},
		"twice is once":                                {grants: []string{"core", "core", "a.io/b", "a.io/b"}, want: []string{"core", "a.io/b"}},
		"any holds all others":                         {grants: []string{"core", "any", "a.io/b"}, want: []string{"any"}},
		"blanks around a word are nothing":             {grants: []string{" core", "olm "}, want: []string{"core", "olm"}},
		"a whole group":                                {grants: []string{"example.com/*"}, want: []string{"example.com/*"}},
		"the group without a name":                     {grants: []string{"core/pods"}, want: []string{"core/pods"}},
		"a word that is no profile":                    {grants: []string{"network"}, wantErr: `unknown profile "network"`},
		"every group has a profile of its own":         {grants: []string{"*/*"}, wantErr: "give the profile any"},
		"a group that is none":                         {grants: []string{"/pods"}, wantErr: `"" is no API group (write core for the group without a name)`},
		"a kind instead of a resource":                 {grants: []string{"example.com/Widget"}, wantErr: `"Widget" is no resource`},
		"a subresource is no resource":                 {grants: []string{"core/pods/exec"}, wantErr: `"pods/exec" is no resource`},
		"nothing at all":                               {grants: nil, wantErr: "the list of grants is empty"},
		"more than a Membership holds says what to do": {grants: many(65), wantErr: "federation.fairlead.dev/aggregate-to-host"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseGrants(tc.grants)
			if diff := errortext.Diff(tc.wantErr, err); diff != "" {
				t.Fatal(diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func many(n int) []string {
	var list []string
	for i := range n {
		list = append(list, "example.com/r"+strings.Repeat("x", i+1)[:min(i+1, 60)]+string(rune('a'+i%26)))
	}
	return list
}

// flat returns one line for each resource of the rules: GROUP/RESOURCE VERBS.
func flat(rules []rbacv1.PolicyRule) []string {
	var lines []string
	for _, r := range rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				lines = append(lines, group+"/"+resource+" "+strings.Join(r.Verbs, ","))
			}
		}
		for _, url := range r.NonResourceURLs {
			lines = append(lines, url+" "+strings.Join(r.Verbs, ","))
		}
	}
	slices.Sort(lines)
	return lines
}

func TestGrantsAreThoseOfTheDesign(t *testing.T) {
	const all = " get,list,watch,create,patch,delete"
	for name, tc := range map[string]struct {
		grant string
		want  []string
	}{
		"core": {grant: "core", want: []string{
			"/configmaps" + all, "/namespaces get,create,patch", "/persistentvolumeclaims" + all, "/serviceaccounts" + all, "/services" + all,
			"apps/*" + all, "autoscaling/*" + all, "batch/*" + all, "gateway.networking.k8s.io/*" + all, "networking.k8s.io/*" + all, "policy/*" + all}},
		"storage leads to no volume that is there": {grant: "storage", want: []string{
			"snapshot.storage.k8s.io/volumesnapshotclasses" + all, "snapshot.storage.k8s.io/volumesnapshots" + all,
			"storage.k8s.io/storageclasses" + all, "storage.k8s.io/volumeattributesclasses" + all}},
		"volumes": {grant: "volumes", want: []string{"/persistentvolumes" + all, "snapshot.storage.k8s.io/volumesnapshotcontents" + all}},
		"olm writes no catalogs and no CSVs": {grant: "olm", want: []string{
			"olm.operatorframework.io/clustercatalogs get,list,watch", "olm.operatorframework.io/clusterextensions" + all,
			"operators.coreos.com/catalogsources get,list,watch", "operators.coreos.com/clusterserviceversions get,list,watch,delete",
			"operators.coreos.com/installplans get,list,watch,patch,delete", "operators.coreos.com/operatorconditions" + all,
			"operators.coreos.com/operatorgroups" + all, "operators.coreos.com/operators get,list,watch", "operators.coreos.com/subscriptions" + all,
			"packages.operators.coreos.com/packagemanifests get"}},
		"catalogs": {grant: "catalogs", want: []string{"olm.operatorframework.io/clustercatalogs" + all, "operators.coreos.com/catalogsources" + all}},
		"secrets":  {grant: "secrets", want: []string{"/secrets" + all}},
		"rbac has neither escalate nor bind": {grant: "rbac", want: []string{
			"rbac.authorization.k8s.io/clusterrolebindings" + all, "rbac.authorization.k8s.io/clusterroles" + all,
			"rbac.authorization.k8s.io/rolebindings" + all, "rbac.authorization.k8s.io/roles" + all}},
		"any":                            {grant: "any", want: []string{"* *", "*/* *"}},
		"a single resource":              {grant: "example.com/widgets", want: []string{"example.com/widgets" + all}},
		"one of the group without name":  {grant: "core/pods", want: []string{"/pods" + all}},
		"what is no grant gives nothing": {grant: "nonsense"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, flat(Grants(tc.grant))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCollectorsReadWhatIsGrantedButNeverSecrets(t *testing.T) {
	served := Served{Groups: []string{"example.com", "apps"}, Core: []string{"secrets", "pods", "configmaps"}}
	const read = " get,list,watch"
	for name, tc := range map[string]struct {
		grants []string
		want   []string
	}{
		"a profile": {grants: []string{"catalogs"}, want: []string{"olm.operatorframework.io/clustercatalogs" + read, "operators.coreos.com/catalogsources" + read}},
		"what is only read": {grants: []string{"olm"}, want: []string{
			"olm.operatorframework.io/clustercatalogs" + read, "olm.operatorframework.io/clusterextensions" + read, "operators.coreos.com/catalogsources" + read,
			"operators.coreos.com/clusterserviceversions" + read, "operators.coreos.com/installplans" + read, "operators.coreos.com/operatorconditions" + read,
			"operators.coreos.com/operatorgroups" + read, "operators.coreos.com/operators" + read, "operators.coreos.com/subscriptions" + read}},
		"Secrets are not read":    {grants: []string{"secrets", "core/secrets"}},
		"a core group as a whole": {grants: []string{"core/*"}, want: []string{"/configmaps" + read, "/pods" + read}},
		"any is enumerated":       {grants: []string{"any"}, want: []string{"/configmaps" + read, "/pods" + read, "apps/*" + read, "example.com/*" + read}},
		"a single resource":       {grants: []string{"example.com/widgets"}, want: []string{"example.com/widgets" + read}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, flat(CollectorReads(tc.grants, served))); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, rules := range [][]rbacv1.PolicyRule{collectorRules(), collectorSystemRules()} {
		for _, line := range flat(rules) {
			if strings.Contains(line, "secrets") || strings.HasPrefix(line, "*/") || strings.HasPrefix(line, "/*") {
				t.Errorf("a collector may read Secrets: %s", line)
			}
		}
	}
}

// The removal of an operator can delete the CRDs of kinds that a wrapper has. If the host could not read CRDs, it could not
// learn that these kinds are gone, and the deletion of the wrapper would wait forever.
func TestTheHostMayReadEveryDefinitionWhateverIsGranted(t *testing.T) {
	if !slices.ContainsFunc(hostRules(), func(r rbacv1.PolicyRule) bool {
		return slices.Contains(r.Resources, "customresourcedefinitions") && slices.Contains(r.Verbs, "get") && len(r.ResourceNames) == 0
	}) {
		t.Error("it may not")
	}
}
