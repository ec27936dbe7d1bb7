// SPDX-License-Identifier: Apache-2.0

package observed

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// Until the manager has connected to a member, the line has the reason of the MemberCluster. The kinds of network errors must
// not reach the line: each wrapper on the member would be written once more after a restart of the manager.
func TestALineHasOneReasonForAllKindsOfNetworkErrors(t *testing.T) {
	o := Reader{Fleet: member.NewFleet(member.Host{}, clocktesting.NewFakeClock(metav1.Now().Time))}
	for reason, want := range map[string]string{
		v1alpha1.ReasonNameNotResolved: v1alpha1.ReasonUnreachable, v1alpha1.ReasonConnectionRefused: v1alpha1.ReasonUnreachable,
		v1alpha1.ReasonTLSError: v1alpha1.ReasonUnreachable, v1alpha1.ReasonTimeout: v1alpha1.ReasonUnreachable, v1alpha1.ReasonUnreachable: v1alpha1.ReasonUnreachable,
		v1alpha1.ReasonCredentialsMissing: v1alpha1.ReasonCredentialsMissing, v1alpha1.ReasonRedirected: v1alpha1.ReasonRedirected,
	} {
		mc := &v1alpha1.MemberCluster{}
		mc.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: "no"}}
		o.Members = map[string]*v1alpha1.MemberCluster{"east": mc}
		if diff := cmp.Diff(report.Reachability{Known: true, Reason: want, Message: "no"}, o.Reachability("east", deliveries.Record{})); diff != "" {
			t.Errorf("%s: %s", reason, diff)
		}
	}
}

func TestOfAMemberWhoseDeliveriesCannotBeReadNothingIsKnown(t *testing.T) {
	usable, away := report.Reachability{Known: true, Usable: true}, report.Reachability{Known: true, Reason: v1alpha1.ReasonUnreachable}
	for name, test := range map[string]struct {
		reachability report.Reachability
		record       deliveries.Record
		want         report.Reachability
	}{
		"they are listed":                                     {usable, deliveries.Record{Listed: true}, usable},
		"they are not listed yet":                             {usable, deliveries.Record{}, report.Reachability{}},
		"they were listed, and have become too many":          {usable, deliveries.Record{Listed: true, Unreadable: "too much"}, report.Reachability{Message: "too much"}},
		"they cannot be read, and the member does not answer": {away, deliveries.Record{Listed: true, Unreadable: "too much"}, away},
	} {
		t.Run(name, func(t *testing.T) {
			if got := known(test.reachability, test.record); got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
		})
	}
}

func TestALineThatOnlyASilentCollectorCouldConfirmIsDoubtedFromNowOn(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	healthy := v1alpha1.ClusterStatus{State: v1alpha1.StateHealthy, LastTransitionTime: metav1.NewTime(now.Add(-time.Hour))}
	if got := doubted(healthy, now); got.State != v1alpha1.StateUnreachable || !got.LastTransitionTime.Time.Equal(now) {
		t.Errorf("%s since %s, want Unreachable since now: an earlier time would end a deadline at once", got.State, got.LastTransitionTime)
	}
	ill := v1alpha1.ClusterStatus{State: v1alpha1.StateStalled, LastTransitionTime: healthy.LastTransitionTime}
	if got := doubted(ill, now); !reflect.DeepEqual(got, ill) {
		t.Errorf("a Stalled member becomes %+v", got)
	}
}
