// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func greeting(recipients ...string) *Greeting {
	return &Greeting{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "hello", UID: "u-1", Generation: 3},
		Spec:       GreetingSpec{Message: "Hello", Recipients: recipients},
	}
}

func TestConfigMap(t *testing.T) {
	tests := map[string]struct {
		version    string
		recipients []string
		data       map[string]string
		labels     map[string]string
	}{
		"the first release writes a message per recipient and its version": {
			version: "v1.0.0", recipients: []string{"ada", "grace"},
			data:   map[string]string{"operator-version": "v1.0.0", "to-ada": "Hello, ada", "to-grace": "Hello, grace"},
			labels: map[string]string{greetingLabel: "u-1"},
		},
		"the second release adds a summary": {
			version: "v1.1.0", recipients: []string{"ada"},
			data:   map[string]string{"operator-version": "v1.1.0", "to-ada": "Hello, ada", "summary": `"Hello" for 1 recipient`},
			labels: map[string]string{greetingLabel: "u-1"},
		},
		"the third release adds a label": {
			version: "v1.2.0",
			data:    map[string]string{"operator-version": "v1.2.0", "summary": `"Hello" for 0 recipients`},
			labels:  map[string]string{greetingLabel: "u-1", versionLabel: "v1.2.0"},
		},
		"a recipient named summary does not overwrite the summary": {
			version: "v1.1.0", recipients: []string{"summary", "operator-version"},
			data: map[string]string{
				"operator-version": "v1.1.0", "summary": `"Hello" for 2 recipients`,
				"to-summary": "Hello, summary", "to-operator-version": "Hello, operator-version",
			},
			labels: map[string]string{greetingLabel: "u-1"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := releaseOf(test.version)
			if err != nil {
				t.Fatal(err)
			}
			g := greeting(test.recipients...)
			got := r.configMap(g)
			data, _, _ := unstructured.NestedStringMap(got.Object, "data")
			if diff := cmp.Diff(test.data, data); diff != "" {
				t.Errorf("data (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.labels, got.GetLabels()); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if !metav1.IsControlledBy(got, g) {
				t.Errorf("the Greeting does not own it: %v", got.GetOwnerReferences())
			}
		})
	}
}

func TestStatus(t *testing.T) {
	before := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	now := metav1.NewTime(before.Add(time.Hour))
	const written1 = "ConfigMap hello-messages has messages for 1 recipient"
	tests := map[string]struct {
		was  []metav1.Condition
		did  func(*Greeting) writeResult
		want metav1.Condition
	}{
		"after the first write Ready turns True now": {
			did:  written,
			want: metav1.Condition{Status: metav1.ConditionTrue, Reason: ReasonWritten, Message: written1, LastTransitionTime: now},
		},
		"after a repeated write Ready keeps its transition time, so that the status does not change": {
			was:  []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, LastTransitionTime: before}},
			did:  written,
			want: metav1.Condition{Status: metav1.ConditionTrue, Reason: ReasonWritten, Message: written1, LastTransitionTime: before},
		},
		"when the ConfigMap belongs to another owner Ready turns False now": {
			was: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, LastTransitionTime: before}},
			did: nameTaken,
			want: metav1.Condition{
				Status: metav1.ConditionFalse, Reason: ReasonNameTaken, LastTransitionTime: now,
				Message: "ConfigMap hello-messages belongs to another owner: delete or rename it, or give this Greeting another name",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := greeting("ada")
			g.Status.Conditions = test.was
			content := status(g, test.did(g), now)

			var got Greeting
			if err := fromUnstructured(content, &got); err != nil {
				t.Fatal(err)
			}
			test.want.Type, test.want.ObservedGeneration = "Ready", g.Generation
			want := GreetingStatus{ObservedGeneration: 3, ConfigMap: "hello-messages", Conditions: []metav1.Condition{test.want}}
			if diff := cmp.Diff(want, got.Status); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestReleaseOf(t *testing.T) {
	_, err := releaseOf("v9")
	want := `there is no version "v9" of demo-operator: there are v1.0.0, v1.1.0, v1.2.0`
	if err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
}
