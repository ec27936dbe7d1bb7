// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/secretcorpus"
)

// A person who reads the wrapper has no access to the members, and a collector of another vendor may redact nothing.
func TestNoSecretOfTheCorpusIsInTheLineOfAMember(t *testing.T) {
	texts := secretcorpus.Lines(t)
	for _, text := range secretcorpus.InSentences(t) {
		texts = append(texts, "pod web-1: container app has crashed 7 times: exit code 1; from its log: "+text)
	}
	for _, health := range []v1alpha1.Health{v1alpha1.Degraded, v1alpha1.Progressing, v1alpha1.Healthy} {
		reason := "CrashLoopBackOff"
		if health == v1alpha1.Healthy {
			reason = v1alpha1.ReasonDeprecated // only then a line quotes the message of a healthy object
		}
		for _, text := range texts {
			m := with(func(m *Member) {
				m.Status = judged(v1alpha1.ObjectStatus{Group: "apps", Kind: "Deployment", Name: "web", Health: health, Reason: reason, Message: text})
			})
			first := Line(&m, nil, now)
			again := Line(&m, &first, now)
			if strings.Contains(first.Message, secretcorpus.Word) || !strings.HasPrefix(first.Message, "Deployment web: ") || again.Message != first.Message {
				t.Errorf("%q: the line says %q, and then %q", text, first.Message, again.Message)
			}
		}
	}
}

func TestTheLineKeepsWhatIsNoSecret(t *testing.T) {
	long := "its pod cannot be scheduled: " + strings.Repeat("0/3 nodes are available; ", 20)
	for name, text := range map[string]string{"a name that tells of a secret": "unreadable", "a message that is cut": long} {
		m := with(func(m *Member) {
			m.Status = judged(v1alpha1.ObjectStatus{Kind: "Deployment", Name: "api-token", Health: v1alpha1.Degraded, Reason: "R", Message: text})
		})
		first := Line(&m, nil, now)
		if want := ("Deployment api-token: " + text)[:30]; !strings.HasPrefix(first.Message, want) || strings.Contains(first.Message, "redacted") {
			t.Errorf("%s: the line says %q", name, first.Message)
		}
		if again := Line(&m, &first, now); again.Message != first.Message {
			t.Errorf("%s: the line says %q, and then %q", name, first.Message, again.Message)
		}
	}
}

// A fault of the whole fleet must not make the status slow: only the lines that it keeps are redacted.
func TestAStatusRedactsTheLinesThatItKeeps(t *testing.T) {
	in := Input{Before: &v1alpha1.WrapperStatus{}}
	for i := range maxLines + 100 {
		in.Members = append(in.Members, with(func(m *Member) {
			m.Name, m.Judged = fmt.Sprintf("member-%04d", i), true
			m.Status = judged(v1alpha1.ObjectStatus{Kind: "Deployment", Name: "web", Health: v1alpha1.Degraded, Reason: "R", Message: "cannot log in: password=hunter22"})
		}))
	}
	status := Build(in, now)
	if len(status.Clusters) != maxLines || status.Clusters[0].Message != "Deployment web: cannot log in: password=[redacted]" {
		t.Fatalf("%d lines, the first is %+v", len(status.Clusters), status.Clusters[0])
	}
	if content, err := json.Marshal(status); err != nil || strings.Contains(string(content), "hunter22") {
		t.Errorf("the status has a secret: %s (%v)", content, err)
	}
	lines, quoted := make([]v1alpha1.ClusterStatus, 0, len(in.Members)), make([]string, 0, len(in.Members))
	for i := range in.Members {
		line, quote := lineOf(&in.Members[i], nil, now)
		lines, quoted = append(lines, line), append(quoted, quote)
	}
	redactQuotes(lines, slices.Clone(lines[:maxLines]), quoted, nil)
	if got := lines[maxLines].Message; got != "Deployment web" {
		t.Errorf("a line that the status does not keep says %q", got)
	}
}
