// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestSelectingKeepsTheOrderOfTheSpec(t *testing.T) {
	list := parse(t, `
- {clusters: {names: [west]}, target: {kind: Widget}, merge: {a: 1}}
- {clusters: {selectors: [{matchLabels: {cloud: aws}}]}, target: {kind: Widget}, merge: {a: 2}}
- {target: {kind: Widget}, merge: {a: 3}}
`)
	got, err := Selecting(list, east)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int{1, 2}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALaterOverrideWins(t *testing.T) {
	list := parse(t, `
- {target: {kind: Widget}, patch: [{op: replace, path: /spec/size, value: 1}]}
- {clusters: {names: [west]}, target: {kind: Widget}, merge: {spec: {size: 9}}}
- {target: {kind: Widget}, merge: {spec: {size: 2}}}
- {target: {kind: Widget}, patch: [{op: test, path: /spec/size, value: 2}, {op: replace, path: /spec/size, value: 3}]}
`)
	got, err := Apply([]*unstructured.Unstructured{object(t, widget)}, list, east)
	if err != nil {
		t.Fatal(err)
	}
	size, _, _ := unstructured.NestedInt64(got[0].Object, "spec", "size")
	if size != 3 {
		t.Errorf("size is %d, want 3", size)
	}
}

func TestOnlyChangedObjectsAreCopied(t *testing.T) {
	objects := []*unstructured.Unstructured{object(t, widget), object(t, deployment)}
	got, err := Apply(objects, patchOf(t, "Widget", `[{op: replace, path: /spec/size, value: 1}]`), east)
	if err != nil {
		t.Fatal(err)
	}
	if got[0] == objects[0] {
		t.Error("Apply changed the Widget in place")
	}
	if got[1] != objects[1] {
		t.Error("Apply copied a Deployment that no override changes")
	}
}

func TestTargets(t *testing.T) {
	objects := []*unstructured.Unstructured{
		object(t, "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: a}}"),
		object(t, "{apiVersion: example.com/v1, kind: Ingress, metadata: {name: b}}"),
		object(t, "{apiVersion: v1, kind: Service, metadata: {name: a}}"),
		object(t, "{apiVersion: v1, kind: Service, metadata: {name: b}}"),
	}
	text := func(s string) *string { return &s }
	for name, tc := range map[string]struct {
		target v1alpha1.OverrideTarget
		want   []int
		err    string
	}{
		"a kind means all of it":        {target: v1alpha1.OverrideTarget{Kind: "Service"}, want: []int{2, 3}},
		"a name means one":              {target: v1alpha1.OverrideTarget{Kind: "Service", Name: "b"}, want: []int{3}},
		"the core group is empty":       {target: v1alpha1.OverrideTarget{Group: text(""), Kind: "Service", Name: "a"}, want: []int{2}},
		"a group tells kinds apart":     {target: v1alpha1.OverrideTarget{Group: text("example.com"), Kind: "Ingress"}, want: []int{1}},
		"a kind of two groups":          {target: v1alpha1.OverrideTarget{Kind: "Ingress"}, err: `the wrapper has the kind Ingress from several API groups: set group to one of "example.com", "networking.k8s.io"`},
		"a name does not choose groups": {target: v1alpha1.OverrideTarget{Kind: "Ingress", Name: "a"}, err: `the wrapper has the kind Ingress from several API groups: set group to one of "example.com", "networking.k8s.io"`},
		"nothing of that name": {
			target: v1alpha1.OverrideTarget{Kind: "Service", Name: "c"},
			err:    `the wrapper has no object that is a Service named "c"; the wrapper holds Ingress a, Ingress b, Service a, Service b`,
		},
		"nothing of that kind in the group": {
			target: v1alpha1.OverrideTarget{Group: text("apps"), Kind: "Service"},
			err:    `the wrapper has no object that is a Service of group "apps"; the wrapper holds Ingress a, Ingress b, Service a, Service b`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := match(&tc.target, objects)
			var text string
			if err != nil {
				text = err.Error()
			}
			if diff := cmp.Diff(tc.err, text); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("matched (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATargetThatMatchesNothingIsAnErrorForThatMember(t *testing.T) {
	list := parse(t, `[{clusters: {names: [east]}, target: {kind: Service}, merge: {a: 1}}]`)
	objects := []*unstructured.Unstructured{object(t, widget)}
	_, err := Apply(objects, list, east)
	want := "overrides[0].target: looking for its objects for member east: the wrapper has no object that is a Service; the wrapper holds Widget cog"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := Apply(objects, list, selection.Member{Name: "west"}); err != nil {
		t.Errorf("the override does not select west: %v", err)
	}
}

func TestMembersWithDifferentRenderingsHaveDifferentVariants(t *testing.T) {
	set, err := Compile(parse(t, `
- {clusters: {selectors: [{matchLabels: {cloud: aws}}]}, target: {kind: Widget}, merge: {a: 1}}
- {clusters: {selectors: [{matchLabels: {cloud: gcp}}]}, target: {kind: Widget}, merge: {a: 2}}
- target: {kind: Widget}
  patch:
  - {op: add, path: /spec/zone, valueFrom: {fieldPath: "metadata.labels['zone']", whenMissing: Skip}}
  - {op: add, path: /spec/rack, valueFrom: {fieldPath: "metadata.labels['rack']", whenMissing: Skip}}
`))
	if err != nil {
		t.Fatal(err)
	}
	member := func(name string, pairs ...string) selection.Member {
		m := selection.Member{Name: name, Labels: map[string]string{}}
		for i := 0; i < len(pairs); i += 2 {
			m.Labels[pairs[i]] = pairs[i+1]
		}
		return m
	}
	for name, tc := range map[string]struct {
		a, b selection.Member
		same bool
	}{
		"names and foreign labels do not count":  {member("a", "x", "1"), member("b", "x", "2"), true},
		"an override that selects one":           {member("a", "cloud", "aws"), member("b"), false},
		"another value":                          {member("a", "zone", "1"), member("a", "zone", "2"), false},
		"no value and an empty one":              {member("a"), member("a", "zone", ""), false},
		"one value at another place":             {member("a", "zone", "1"), member("a", "rack", "1"), false},
		"values that look like the key's format": {member("a", "zone", "x", "rack", "y:z"), member("a", "zone", "x:y", "rack", "z"), false},
		"different overrides for each":           {member("a", "cloud", "aws"), member("a", "cloud", "gcp"), false},
		"equal values":                           {member("a", "zone", "1", "rack", "2"), member("b", "zone", "1", "rack", "2"), true},
	} {
		t.Run(name, func(t *testing.T) {
			same := string(set.Variant(nil, tc.a)) == string(set.Variant(nil, tc.b))
			if same != tc.same {
				t.Errorf("same: %v, want %v", same, tc.same)
			}
		})
	}
}
