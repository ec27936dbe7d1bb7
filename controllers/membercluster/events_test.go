// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func recorded(recorder *events.FakeRecorder) (all []string) {
	for len(recorder.Events) > 0 {
		all = append(all, <-recorder.Events)
	}
	return all
}

func TestEventsAreRecordedOnChangesAndNotOnRepeats(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason, message string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: message}}
	}
	isWell := ready(metav1.ConditionTrue, v1alpha1.ReasonReady, "the manager can push to the member")
	for name, test := range map[string]struct {
		before, after []metav1.Condition
		want          []string
	}{
		"no condition":                {},
		"well from the beginning":     {after: isWell},
		"well again and again":        {before: isWell, after: isWell},
		"in trouble at the beginning": {after: ready("False", "Timeout", "no answer"), want: []string{"Warning Timeout no answer"}},
		"in trouble":                  {before: isWell, after: ready("False", "Timeout", "no answer"), want: []string{"Warning Timeout no answer"}},
		"the same trouble":            {before: ready("False", "Timeout", "no answer"), after: ready("False", "Timeout", "no answer; and a text")},
		"another trouble":             {before: ready("False", "Timeout", "no answer"), after: ready("False", "Unauthorized", "join again"), want: []string{"Warning Unauthorized join again"}},
		"well again": {before: ready("False", "Timeout", "no answer"), after: isWell,
			want: []string{"Normal Recovered the member is ready again: the manager can push to the member"}},
		"a collector that starts":      {after: ready("False", v1alpha1.ReasonCollectorStarting, "wait")},
		"a collector that has started": {before: ready("False", v1alpha1.ReasonCollectorStarting, "wait"), after: isWell},
		"an unjoin":                    {before: isWell, after: ready("False", v1alpha1.ReasonLeaving, "wait")},
		"a text from the network":      {before: isWell, after: ready("False", "Timeout", "\x1b[31mno\n%s"), want: []string{"Warning Timeout [31mno %s"}},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := events.NewFakeRecorder(10)
			mc := registered(v1alpha1.CollectorHost)
			mc.Status.Conditions = test.after
			recordReadiness(recorder, mc, test.before)
			if diff := cmp.Diff(test.want, recorded(recorder)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnOutageOfAMemberIsOneWriteAndOneEvent(t *testing.T) {
	s := newAPIServer(t, "member-uid")
	s.joined = true
	mc, secret := registration(s, "member-uid")
	l := newLoop(t, mc, secret)
	if diff := cmp.Diff([]string(nil), recorded(l.recorder)); diff != "" || said(l.settled(t))[3] != "Ready True Ready" {
		t.Fatal(diff)
	}
	s.CloseClientConnections()
	s.Close()
	for len(l.probes) > 0 {
		<-l.probes
	}
	l.fleet.ProbeNow("east")
	receive(t, l.probes)
	lost := &v1alpha1.MemberCluster{}
	versions := map[string]bool{}
	for range 3 {
		if _, err := l.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "east"}}); err != nil {
			t.Fatal(err)
		}
		if err := l.client.Get(t.Context(), client.ObjectKey{Name: "east"}, lost); err != nil {
			t.Fatal(err)
		}
		versions[lost.ResourceVersion] = true
		l.fleet.ProbeNow("east")
		receive(t, l.probes)
	}
	if got := said(lost); got[0] != "Reachable False ConnectionRefused" || len(versions) != 1 {
		t.Errorf("%v, in %d versions", got, len(versions))
	}
	if got := recorded(l.recorder); len(got) != 1 || !strings.HasPrefix(got[0], "Warning ConnectionRefused since 2026-01-02T03:04:05Z: nothing listens at "+s.URL) {
		t.Errorf("%q", got)
	}
}
