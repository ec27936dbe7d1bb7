// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// publishOnce publishes, after this time, a line with this reason and, if the message is not "", an event with this message. It returns
// the requests and the pass.
func (u *unwatched) publishOnce(after time.Duration, reason, message string) ([]string, *pass) {
	u.m.t.Helper()
	u.passTime(after)
	p, wait := u.observer.open(u.m.deliveryName())
	if p == nil {
		u.m.t.Fatalf("no pass for %s", wait)
	}
	now := metav1.NewTime(time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC))
	p.lines = []v1alpha1.ObjectStatus{{Group: "apps", Kind: "Deployment", Name: "web", Health: v1alpha1.Degraded, Reason: reason, Message: "x", SinceTime: now}}
	key, found := lineKey{schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web"}, v1alpha1.Evidence{}
	if message != "" {
		found.Events = []v1alpha1.ObservedEvent{{Kind: "Pod", Name: "web-1", Type: "Warning", Reason: "BackOff", Message: message, Count: 1, LastTime: now}}
	}
	p.memory.gathered[key] = found
	if p.memory.judged[key] == nil {
		p.memory.judged[key] = &judgement{unhealthy: u.clock.Now()}
	}
	p.addEvidence(&v1alpha1.InventoryEntry{Group: "apps", Kind: "Deployment", Name: "web"})
	if err := u.observer.publisher.publish(u.m.t.Context(), p); err != nil {
		u.m.t.Fatal(err)
	}
	return u.m.asked(&u.requests), p
}

// message returns the message of the only event in the status; "" if there is no evidence.
func (m *member) message() string {
	if e := m.delivery().Status.Evidence; len(e) > 0 {
		return e[0].Events[0].Message
	}
	return ""
}

func TestAWriteOfEvidenceAloneWaits(t *testing.T) {
	m := newMember(t)
	u := m.unwatched()
	m.deliver("sha256:1", v1alpha1.InventoryEntry{Group: "apps", Kind: "Deployment", Name: "web", State: v1alpha1.EntryPending})
	u.watchBringsDelivery()
	for _, step := range []struct {
		after           time.Duration
		reason, message string
		writes          int
		want            string
	}{
		{0, "CrashLoopBackOff", "", 1, ""},
		{2 * time.Second, "CrashLoopBackOff", "one", 1, "one"}, // the first evidence does not wait
		{2 * time.Second, "CrashLoopBackOff", "one", 0, "one"},
		{2 * time.Second, "CrashLoopBackOff", "two", 0, "one"},
		{wordsEvery, "CrashLoopBackOff", "two", 1, "two"},
		{2 * time.Second, "OOMKilled", "three", 1, "three"},
		{wordsEvery, "OOMKilled", "", 1, ""},
		{2 * time.Second, "OOMKilled", "four", 0, ""}, // it was unhealthy for long: evidence that comes and goes waits
	} {
		asked, p := u.publishOnce(step.after, step.reason, step.message)
		if got := m.message(); len(asked) != step.writes || got != step.want {
			t.Errorf("after %s, with %q: %q, and the status has %q", step.after, step.message, asked, got)
		}
		if isDue := step.message != step.want; isDue != (p.again > 0) {
			t.Errorf("with %q: the next pass is in %s", step.message, p.again)
		}
	}
}
