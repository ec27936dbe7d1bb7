// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

func TestWhatToDoAboutAMemberThatIsNotReady(t *testing.T) {
	const wait, token = "kubectl wait --for=condition=Ready member/east", "kubectl create token fairlead-collector --namespace fairlead-system"
	for name, tc := range map[string]struct {
		err        join.NotReadyError
		says, lets []string
	}{
		"a collector elsewhere that is silent": {
			err:  join.NotReadyError{Reason: v1alpha1.ReasonNoHeartbeat, Message: "nobody.", Collector: v1alpha1.CollectorExternal},
			says: []string{"NoHeartbeat: nobody. A collector", token, "(--kubeconfig)", wait},
		},
		"the host's own that is silent": {
			err:  join.NotReadyError{Reason: v1alpha1.ReasonNoHeartbeat, Message: "it ended", Collector: v1alpha1.CollectorHost},
			says: []string{"NoHeartbeat: it ended. ", wait}, lets: []string{token},
		},
		"a member that does not answer": {
			err:  join.NotReadyError{Reason: v1alpha1.ReasonUnreachable, Message: "no route", Collector: v1alpha1.CollectorExternal},
			says: []string{"Unreachable: no route. ", wait}, lets: []string{token},
		},
		"a member that the manager reaches at another address": {
			err: join.NotReadyError{Reason: v1alpha1.ReasonUnreachable, Message: "no route", Collector: v1alpha1.CollectorMember,
				Tried: "https://10.0.0.7:6443", Here: "https://127.0.0.1:41235", FromPod: true},
			says: []string{"Unreachable: no route. The manager, in its pod on the host, tries https://10.0.0.7:6443; this join has reached the member at https://127.0.0.1:41235",
				"join again with --server https://ADDRESS:PORT", wait},
		},
		"a host without a manager": {err: join.NotReadyError{}, says: []string{"Check that the manager runs.", wait}, lets: []string{token}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.err.Name = "east"
			for _, want := range tc.says {
				if diff := errortext.Diff(want, &tc.err); diff != "" {
					t.Error(diff)
				}
			}
			for _, not := range tc.lets {
				if strings.Contains(tc.err.Error(), not) {
					t.Errorf("it says %q, which is of no use: %s", not, tc.err.Error())
				}
			}
		})
	}
}

func TestAJoinReportsThatAnExternalCollectorNeedsANewToken(t *testing.T) {
	f := newFleet(t)
	told := func(collector v1alpha1.CollectorMode, dry bool) bool {
		t.Helper()
		_, reported, err := f.join(t, f.eastConfig, join.Options{Name: "east", Collector: collector, DryRun: dry})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(reported, func(s steps.Step) bool {
			return s.Outcome == steps.Noted && strings.Contains(s.What, "kubectl create token fairlead-collector")
		})
	}
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	if told(v1alpha1.CollectorHost, false) {
		t.Error("by a join whose host collects")
	}
	if told(v1alpha1.CollectorExternal, true) {
		t.Error("by a dry run")
	}
	if !told(v1alpha1.CollectorExternal, false) {
		t.Error("not by the join that makes the account")
	}
	if told(v1alpha1.CollectorExternal, false) {
		t.Error("by a join that finds the account there")
	}
	f.leave(t, f.eastConfig, "east")
	if !told(v1alpha1.CollectorExternal, false) {
		t.Error("not by the join after an unjoin")
	}
}

// The host regards the first cluster that accepts its credentials as the member. Only the join knows which cluster is the
// right one.
func TestAHostThatReachesAnotherClusterThanTheJoinIsNotReady(t *testing.T) {
	f := newFleet(t)
	t.Cleanup(func() {
		if err := join.Unjoin(within(t), f.hostConfig, nil, join.UnjoinOptions{Name: "east", Forget: true, Wait: time.Minute}, func(steps.Step) {}); err != nil {
			t.Error(err)
		}
		f.leave(t, f.eastConfig, "east")
	})
	asManager := func(s steps.Step) {
		if s.Outcome != steps.Created || s.What != "host: MemberCluster east" {
			return
		}
		m, err := join.FindMember(within(t), f.host, "east")
		if err != nil {
			t.Fatal(err)
		}
		m.Status.UID = "of-another"
		meta.SetStatusCondition(&m.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
			Reason: v1alpha1.ReasonReady, Message: "pushes reach the member", ObservedGeneration: m.Generation})
		if err := f.host.Status().Update(within(t), m); err != nil {
			t.Fatal(err)
		}
	}
	opts := join.Options{Name: "east", DefaultHostName: "prod", Wait: 10 * time.Second}
	_, err := join.Join(within(t), f.hostConfig, f.eastConfig, opts, asManager)
	for _, want := range []string{"the host reaches another cluster at " + f.eastConfig.Host + " (uid of-another)", "`hostctl unjoin east --forget`", "--server"} {
		if diff := errortext.Diff(want, err); diff != "" {
			t.Error(diff)
		}
	}
	// A second join also tells the user the way out.
	_, _, err = f.join(t, f.eastConfig, join.Options{Name: "east"})
	for _, want := range []string{"its cluster has uid of-another, and the cluster at ", "`hostctl unjoin east` first (with --forget"} {
		if diff := errortext.Diff(want, err); diff != "" {
			t.Error(diff)
		}
	}
}

// After `hostctl unjoin --forget` another cluster can join under the name of the forgotten member.
func TestAnotherClusterTakesAMembersPlaceAfterAForgettingUnjoin(t *testing.T) {
	f := newFleet(t)
	first := f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.westConfig, "east"); f.leave(t, f.eastConfig, "east") })
	m, err := join.FindMember(within(t), f.host, "east")
	if err != nil {
		t.Fatal(err)
	}
	m.Status.UID = first.UID
	if err := f.host.Status().Update(within(t), m); err != nil {
		t.Fatal(err)
	}
	if _, _, err = f.join(t, f.westConfig, join.Options{Name: "east"}); err == nil {
		t.Fatal("it takes the place unasked")
	}
	if err := join.Unjoin(within(t), f.hostConfig, nil, join.UnjoinOptions{Name: "east", Forget: true, Wait: time.Minute}, func(steps.Step) {}); err != nil {
		t.Fatal(err)
	}
	second := f.mustJoin(t, f.westConfig, join.Options{Name: "east"})
	m, err = join.FindMember(within(t), f.host, "east")
	if err != nil || m.Status.UID != "" || second.UID == first.UID {
		t.Errorf("the registration is bound to the first still: %v %v", m, err)
	}
}
