// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/secretcorpus"
)

func TestNoSecretOfTheCorpusIsLeftInRedactedEvidence(t *testing.T) {
	for _, text := range secretcorpus.Lines(t) {
		foreign := v1alpha1.Evidence{
			Events:     []v1alpha1.ObservedEvent{{Kind: "Pod", Name: "web-1", Type: corev1.EventTypeWarning, Reason: text, Message: text, Count: 1}},
			Containers: []v1alpha1.ObservedContainer{{Pod: "web-1", Name: "app", State: StateWaiting, Reason: text, Log: "starting\n" + text + "\nstopped", PreviousLog: text}},
		}
		before, err := json.Marshal(foreign)
		if err != nil {
			t.Fatal(err)
		}
		got := Redacted(&foreign)
		written, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(written), secretcorpus.Word) {
			t.Errorf("%q: %s", text, written)
		}
		if c := got.Containers[0]; len(c.Log) > len(foreign.Containers[0].Log) || len(c.PreviousLog) > len(text) || c.Pod != "web-1" || got.Events[0].Name != "web-1" {
			t.Errorf("%q: %s", text, written)
		}
		if after, err := json.Marshal(foreign); err != nil || string(after) != string(before) {
			t.Errorf("%q: the original was changed: %s", text, after)
		}
		if diff := cmp.Diff(got, Redacted(&got)); diff != "" {
			t.Errorf("%q: redacting again changes it:\n%s", text, diff)
		}
	}
}
