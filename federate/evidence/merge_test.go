// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestEvidenceOutlivesThePodAndTheEvent(t *testing.T) {
	event := func(reason string, count int32, minute int) v1alpha1.ObservedEvent {
		at := metav1.NewTime(time.Date(2026, 1, 1, 10, minute, 0, 0, time.UTC))
		return v1alpha1.ObservedEvent{Kind: "Pod", Name: "a", Type: "Warning", Reason: reason, Count: count, LastTime: at}
	}
	container := func(pod, log string) v1alpha1.ObservedContainer {
		return v1alpha1.ObservedContainer{Pod: pod, Name: "app", State: "Terminated", Log: log}
	}
	events := func(all ...v1alpha1.ObservedEvent) []v1alpha1.ObservedEvent { return all }
	containers := func(all ...v1alpha1.ObservedContainer) []v1alpha1.ObservedContainer { return all }
	for name, test := range map[string]struct{ known, found, want v1alpha1.Evidence }{
		"a Job whose pod was deleted": {
			v1alpha1.Evidence{Containers: containers(container("job-a", "panic"))},
			v1alpha1.Evidence{Events: events(event("BackoffLimitExceeded", 1, 1))},
			v1alpha1.Evidence{Events: events(event("BackoffLimitExceeded", 1, 1)), Containers: containers(container("job-a", "panic"))},
		},
		"a new pod without a log": {
			v1alpha1.Evidence{Containers: containers(container("a", "panic"), container("b", ""))},
			v1alpha1.Evidence{Containers: containers(container("c", ""))},
			v1alpha1.Evidence{Containers: containers(container("c", ""), container("a", "panic"))},
		},
		"a new pod with a log": {
			v1alpha1.Evidence{Containers: containers(container("a", "panic"))},
			v1alpha1.Evidence{Containers: containers(container("c", "other"))},
			v1alpha1.Evidence{Containers: containers(container("c", "other"))},
		},
		"events that have expired, and one that happened again": {
			v1alpha1.Evidence{Events: events(event("Failed", 1, 1), event("BackOff", 3, 2))},
			v1alpha1.Evidence{Events: events(event("BackOff", 4, 3))},
			v1alpha1.Evidence{Events: events(event("Failed", 1, 1), event("BackOff", 4, 3))},
		},
		"nothing can be found any more": {
			v1alpha1.Evidence{Containers: containers(container("a", ""))}, v1alpha1.Evidence{}, v1alpha1.Evidence{Containers: containers(container("a", ""))},
		},
	} {
		got := Merge(&test.known, test.found)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(got, Merge(&got, test.found)); diff != "" {
			t.Errorf("%s: the next reading changes it: %s", name, diff)
		}
	}
}

func TestMergedEvidenceIsBounded(t *testing.T) {
	var all [2]v1alpha1.Evidence
	for i := range 40 {
		e := &all[i%2]
		at := metav1.NewTime(time.Date(2026, 1, 1, 10, i, 0, 0, time.UTC))
		e.Events = append(e.Events, v1alpha1.ObservedEvent{Kind: "Pod", Name: "a", Type: "Normal", Reason: fmt.Sprint("R", i), Count: 1, LastTime: at})
		if i < 2*MaxContainers {
			e.Containers = append(e.Containers, v1alpha1.ObservedContainer{Pod: fmt.Sprint("p", i), Name: "app", State: "Waiting", Log: []string{"x", ""}[i%2]})
		}
	}
	got := Merge(&all[0], all[1])
	if len(got.Events) != MaxEvents || got.Events[0].Reason != "R20" || len(got.Containers) != MaxContainers || !hasLog(got.Containers[MaxContainers-1]) {
		t.Errorf("%+v", got)
	}
}
