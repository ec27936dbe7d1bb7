// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

const operators = `
objects:
- {apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: a}}
- {apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: a}, spec: {name: a, channel: stable, installPlanApproval: Manual}}
- {apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: b, annotations: {team: data}}, spec: {name: b, installPlanApproval: Manual, startingCSV: b.v0.9.0}}
- {apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: c}, spec: {name: c}}
- {apiVersion: messaging.knative.dev/v1, kind: Subscription, metadata: {name: a}}
`

const targeted = operators + `
upgrade: {subscriptions: [{name: a, targetCSV: a.v1.2.0}, {name: b, targetCSV: b.v1.0.0}]}
`

func TestASubscriptionThatUpgradeNamesGetsItsTarget(t *testing.T) {
	got := rendering(t, renderer(t, spec(t, targeted), "ops"), selection.Member{Name: "east"})
	var lines []string
	for _, o := range got.Objects {
		lines = append(lines, string(o.JSON))
	}
	want := []string{
		`{"apiVersion":"operators.coreos.com/v1","kind":"OperatorGroup","metadata":{"name":"a","namespace":"ops"}}`,
		`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"annotations":{"federation.fairlead.dev/target-csv":"a.v1.2.0"},"name":"a","namespace":"ops"},` +
			`"spec":{"channel":"stable","installPlanApproval":"Manual","name":"a","startingCSV":"a.v1.2.0"}}`,
		`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"annotations":{"federation.fairlead.dev/target-csv":"b.v1.0.0","team":"data"},"name":"b","namespace":"ops"},` +
			`"spec":{"installPlanApproval":"Manual","name":"b","startingCSV":"b.v0.9.0"}}`,
		`{"apiVersion":"operators.coreos.com/v1alpha1","kind":"Subscription","metadata":{"name":"c","namespace":"ops"},"spec":{"name":"c"}}`,
		`{"apiVersion":"messaging.knative.dev/v1","kind":"Subscription","metadata":{"name":"a","namespace":"ops"}}`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// These are the digests that members have in their Deliveries. With another digest, an upgrade of the host would update
// every member.
func TestARenderingWithoutUpgradeKeepsItsDigest(t *testing.T) {
	for name, tc := range map[string]struct{ spec, want string }{
		"Subscriptions": {operators, "sha256:eedaf43a2bec0f8dca100033e0c112695ff035842fa1cbda5b1c21ade13611c7"},
		"per cloud":     {perCloud, "sha256:1a6a7226e2db2d6fe9dc413bfa70bb775b3f052a013f77cc387dc02daaab38a6"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := rendering(t, renderer(t, spec(t, tc.spec), "shop"), fleet(1)[0]).Digest; got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

func TestASubscriptionThatTakesTheLatestVersion(t *testing.T) {
	for name, tc := range map[string]struct{ upgrade, a, b string }{
		"before a version is taken": {
			"[{name: a, approve: Latest}, {name: b, approve: Latest}]",
			`{"annotations":{"federation.fairlead.dev/target-csv":"Latest"},"name":"a","namespace":"ops"},"spec":{"channel":"stable","installPlanApproval":"Manual","name":"a"}}`,
			`"target-csv":"Latest","team":"data"},"name":"b","namespace":"ops"},"spec":{"installPlanApproval":"Manual","name":"b","startingCSV":"b.v0.9.0"}}`,
		},
		"after that": {
			"[{name: a, approve: Latest, targetCSV: a.v1.2.0}, {name: b, approve: Latest, targetCSV: b.v1.0.0}]",
			`{"annotations":{"federation.fairlead.dev/target-csv":"a.v1.2.0"},"name":"a","namespace":"ops"},"spec":{"channel":"stable","installPlanApproval":"Manual","name":"a","startingCSV":"a.v1.2.0"}}`,
			`"target-csv":"b.v1.0.0","team":"data"},"name":"b","namespace":"ops"},"spec":{"installPlanApproval":"Manual","name":"b","startingCSV":"b.v0.9.0"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := rendering(t, renderer(t, spec(t, operators+"\nupgrade: {subscriptions: "+tc.upgrade+"}\n"), "ops"), selection.Member{Name: "east"})
			for i, want := range map[int]string{1: tc.a, 2: strings.Replace(tc.b, `"target-csv`, `"federation.fairlead.dev/target-csv`, 1)} {
				if text := string(got.Objects[i].JSON); !strings.HasSuffix(text, want) {
					t.Errorf("%s, which does not end in %s", text, want)
				}
			}
		})
	}
}

func TestANewTargetIsAnotherRendering(t *testing.T) {
	next := strings.Replace(targeted, "a.v1.2.0", "a.v1.3.0", 1)
	was := rendering(t, renderer(t, spec(t, targeted), "ops"), selection.Member{Name: "east"})
	is := rendering(t, renderer(t, spec(t, next), "ops"), selection.Member{Name: "east"})
	if was.Digest == is.Digest {
		t.Error("the target must change the digest")
	}
}

func TestOverridesOfASubscriptionWithATarget(t *testing.T) {
	r := renderer(t, spec(t, targeted+`
overrides:
- {clusters: {names: [east]}, target: {group: operators.coreos.com, kind: Subscription, name: a}, merge: {spec: {channel: beta, startingCSV: a.v1.1.0}}}
- {clusters: {names: [west]}, target: {group: operators.coreos.com, kind: Subscription, name: a}, merge: {spec: {installPlanApproval: Automatic}}}
- {clusters: {names: [north]}, target: {group: operators.coreos.com, kind: Subscription, name: c}, merge: {spec: {installPlanApproval: Automatic}}}
`), "ops")
	text := string(rendering(t, r, selection.Member{Name: "east"}).Objects[1].JSON)
	if !strings.Contains(text, `target-csv":"a.v1.2.0"`) || !strings.Contains(text, `{"channel":"beta","installPlanApproval":"Manual","name":"a","startingCSV":"a.v1.1.0"}`) {
		t.Errorf("the rendering for east lacks the target: %s", text)
	}
	_, err := r.For(selection.Member{Name: "west"})
	var e *overrides.Error
	if !errors.As(err, &e) || e.Override != 1 || e.Member != "west" || !strings.Contains(err.Error(), "no override may change: spec.upgrade names this Subscription") {
		t.Errorf("the override of installPlanApproval must be an error for west: %v", err)
	}
	if _, err := r.For(selection.Member{Name: "north"}); err != nil {
		t.Errorf("an Automatic Subscription without a target must be allowed for north: %v", err)
	}
}

func TestNewRefusesATargetForASubscriptionThatIsNotManual(t *testing.T) {
	for name, text := range map[string]string{
		"Automatic": strings.Replace(targeted, "stable, installPlanApproval: Manual", "stable, installPlanApproval: Automatic", 1),
		"absent":    strings.Replace(targeted, "stable, installPlanApproval: Manual", "stable", 1),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(spec(t, text), "ops")
			want := "reading objects[1]: spec.upgrade names Subscription a, and its spec.installPlanApproval is not Manual: set it to Manual, or OLM upgrades past the target by itself"
			if err == nil || err.Error() != want {
				t.Errorf("got %v", err)
			}
		})
	}
}
