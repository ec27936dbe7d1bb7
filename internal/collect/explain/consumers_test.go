// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
)

var dataClaim = Stub(schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolumeClaim"}, "shop", "data", "uid-data")

// consumer returns a pod that mounts a claim. It was created at this second.
func consumer(name, namespace, claim string, second int, more string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"uid":"uid-%[2]s","creationTimestamp":"2026-01-01T10:00:%02[4]dZ"%[5]s},
		"spec":{"volumes":[{"name":"tmp","emptyDir":{}},{"name":"x","persistentVolumeClaim":{"claimName":%[3]q}}]}}`, namespace, name, claim, second, more)
}

func TestTheEventsOfAClaimAreAlsoThoseOfThePodsThatWaitForIt(t *testing.T) {
	failed := func(name string) string { return event("Pod", name, "FailedScheduling") }
	for name, test := range map[string]struct {
		pods    []string
		refused map[string]int
		events  []string // nil if there is no evidence
		asked   []string
	}{
		"a pod that mounts it": {pods: []string{consumer("web-1", "shop", "data", 1, "")}, events: []string{"PersistentVolumeClaim data", "Pod web-1"},
			asked: []string{"pods", "events uid-data", "events uid-web-1"}},
		"the three newest pods": {pods: []string{consumer("a", "shop", "data", 1, ""), consumer("b", "shop", "data", 4, ""), consumer("c", "shop", "data", 3, ""), consumer("d", "shop", "data", 2, "")},
			events: []string{"PersistentVolumeClaim data"}, asked: []string{"pods", "events uid-data", "events uid-b", "events uid-c", "events uid-d"}},
		"no pod of another claim, of another namespace, or that leaves": {pods: []string{consumer("a", "shop", "data-2", 1, ""), consumer("b", "bank", "data", 1, ""),
			consumer("c", "shop", "data", 1, `,"deletionTimestamp":"2026-01-01T10:00:00Z"`), `{"metadata":{"namespace":"shop","name":"d","uid":"uid-d"}}`},
			events: []string{"PersistentVolumeClaim data"}, asked: []string{"pods", "events uid-data"}},
		"a member that refuses pods":          {refused: map[string]int{"pods": 403}, events: []string{"PersistentVolumeClaim data"}, asked: []string{"pods", "events uid-data"}},
		"an API server that cannot list pods": {refused: map[string]int{"pods": 500}, events: []string{"PersistentVolumeClaim data"}, asked: []string{"pods", "events uid-data"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &fakeMember{refused: test.refused, answers: map[string]string{"pods": `{"items":[` + strings.Join(test.pods, ",") + `]}`,
				"events uid-data": event("PersistentVolumeClaim", "data", "ProvisioningFailed"), "events uid-web-1": failed("web-1")}}
			found, err := m.reader(t).Explain(t.Context(), dataClaim, &health.Related{}, Known{WantsEvidence: true})
			if err != nil || (found.Evidence == nil) != (test.events == nil) {
				t.Fatalf("%+v, %v", found, err)
			}
			if diff := cmp.Diff(test.asked, m.asked); diff != "" {
				t.Error(diff)
			}
			if found.Evidence != nil {
				if diff := cmp.Diff(test.events, aboutIn(found.Evidence)); diff != "" || len(found.Evidence.Containers) > 0 {
					t.Errorf("%s: %+v", diff, found.Evidence)
				}
			}
		})
	}
}

// aboutIn returns the objects that the events are about, sorted.
func aboutIn(e *v1alpha1.Evidence) (objects []string) {
	for _, o := range e.Events {
		objects = append(objects, o.Kind+" "+o.Name)
	}
	slices.Sort(objects)
	return objects
}

func TestAPersonWhoAsksForTheEventsOfAClaimGetsThoseOfWaitingPods(t *testing.T) {
	m := &fakeMember{answers: map[string]string{"pods": `{"items":[` + consumer("web-1", "shop", "data", 1, "") + `]}`, "events uid-web-1": event("Pod", "web-1", "FailedMount")}}
	a, err := m.reader(t).Answer(t.Context(), dataClaim, &health.Related{}, &v1alpha1.EvidenceRequest{Kind: "PersistentVolumeClaim", Name: "data", Type: v1alpha1.EvidenceEvents})
	if diff := cmp.Diff([]string{"Pod web-1"}, aboutIn(&a.Evidence)); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
}

// A StatefulSet makes the claims of its pods, so the wrapper does not list them.
func TestTheEventsOfAPendingPodAreAlsoThoseOfItsClaims(t *testing.T) {
	set := Stub(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "StatefulSet"}, "shop", "db", "uid-db")
	set.Object["spec"] = map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "db"}}}
	mounts := func(name, phase string, claims ...string) string {
		var volumes []string
		for _, c := range claims {
			volumes = append(volumes, fmt.Sprintf(`{"name":"v","persistentVolumeClaim":{"claimName":%q}}`, c))
		}
		return fmt.Sprintf(`{"metadata":{"namespace":"shop","name":%q,"uid":"uid-%[1]s","creationTimestamp":"2026-01-01T10:00:00Z",
			"ownerReferences":[{"uid":"uid-db","controller":true}]},"spec":{"volumes":[{"name":"tmp"},%s]},"status":{"phase":%q,
			"conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"unbound claims"}]}}`, name, strings.Join(volumes, ","), phase)
	}
	for name, test := range map[string]struct {
		pods []string
		want []string
	}{
		"a pending pod":           {[]string{mounts("db-0", "Pending", "data-db-0")}, []string{"events of claim data-db-0"}},
		"two pods with one claim": {[]string{mounts("db-0", "Pending", "shared"), mounts("db-1", "Pending", "shared")}, []string{"events of claim shared"}},
		"a pod with many claims":  {[]string{mounts("db-0", "Pending", "a", "b", "c", "d")}, []string{"events of claim a", "events of claim b", "events of claim c"}},
		"a pod that runs":         {[]string{mounts("db-0", "Running", "data-db-0")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := &fakeMember{answers: map[string]string{"pods": `{"items":[` + strings.Join(test.pods, ",") + `]}`,
				"events of claim data-db-0": event("PersistentVolumeClaim", "data-db-0", "ProvisioningFailed")}}
			found, err := m.reader(t).Explain(t.Context(), set, &health.Related{}, Known{WantsEvidence: true})
			if err != nil || found.Evidence == nil {
				t.Fatalf("%+v, %v", found, err)
			}
			var asked []string
			for _, key := range m.asked {
				if strings.HasPrefix(key, "events of claim ") {
					asked = append(asked, key)
				}
			}
			slices.Sort(asked)
			if diff := cmp.Diff(test.want, asked); diff != "" {
				t.Errorf("%s\n%q", diff, m.asked)
			}
			if isShown := slices.Contains(aboutIn(found.Evidence), "PersistentVolumeClaim data-db-0"); isShown != (name == "a pending pod") {
				t.Errorf("%+v", found.Evidence)
			}
		})
	}
}
