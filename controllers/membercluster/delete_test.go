// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// leaving returns the loop with member east, which is connected and whose MemberCluster is being deleted. joined is the
// uid of the joined cluster. cleared is true if an earlier attempt has removed Fairlead's own objects.
func leaving(t *testing.T, s *apiServer, joined types.UID, cleared bool) (*Reconciler, *v1alpha1.MemberCluster) {
	t.Helper()
	mc := registered(v1alpha1.CollectorHost)
	mc.Spec.CredentialsRef.Name, mc.Status.UID, mc.Finalizers = "east", joined, []string{v1alpha1.Finalizer}
	if cleared {
		mc.Annotations = map[string]string{join.AnnotationCleared: "true"}
	}
	l := newLoop(t, mc)
	if err := l.client.Delete(t.Context(), mc); err != nil {
		t.Fatal(err)
	}
	if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); err != nil {
		t.Fatal(err)
	}
	if err := l.fleet.Connect(t.Context(), "east", s.config(), joined); err != nil {
		t.Fatal(err)
	}
	receive(t, l.probes)
	return l.Reconciler, mc
}

func TestWithdrawingDoesNotTouchAnotherClusterInPlaceOfTheMember(t *testing.T) {
	for name, cleared := range map[string]bool{"before anything was removed": false, "with the member cleared": true} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t, "clone-uid")
			r, mc := leaving(t, s, "member-uid", cleared)
			again, err := r.reconcileDelete(t.Context(), mc, nil)
			if err != nil || again.RequeueAfter != member.RetryInterval {
				t.Errorf("%v %v", again, err)
			}
			if diff := cmp.Diff([]string(nil), s.written()); diff != "" {
				t.Errorf("the other cluster must get no write: %s", diff)
			}
			if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); err != nil || len(mc.Finalizers) == 0 {
				t.Errorf("the MemberCluster must still exist: %v", err)
			}
			err = r.withdraw(t.Context(), mc)
			for _, words := range []string{"clone-uid", "member-uid", "hostctl unjoin east --forget"} {
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("the error does not contain %q: %v", words, err)
				}
			}
		})
	}
}

func TestTheManagerWithdrawsFromTheJoinedCluster(t *testing.T) {
	for name, joined := range map[string]types.UID{"by its uid": "member-uid", "before its uid was known": ""} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t, "member-uid")
			r, mc := leaving(t, s, joined, true)
			if _, err := r.reconcileDelete(t.Context(), mc, nil); err != nil {
				t.Fatal(err)
			}
			if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); client.IgnoreNotFound(err) != nil || err == nil {
				t.Errorf("the MemberCluster must not exist any more: %v", err)
			}
			if got := s.written(); len(got) == 0 || !strings.HasPrefix(got[0], http.MethodDelete) {
				t.Errorf("the manager must remove the Membership and the host's account from the member: %v", got)
			}
		})
	}
}

// The last probe of the member succeeded, but the manager cannot remove Fairlead's objects there. Ready must not stay
// True.
func TestAReachableMemberThatCannotBeLeftIsNotReady(t *testing.T) {
	s := newAPIServer(t, "member-uid")
	s.joined = true
	r, mc := leaving(t, s, "member-uid", false)
	s.Close()
	if _, err := r.reconcileDelete(t.Context(), mc, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); err != nil {
		t.Fatal(err)
	}
	ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != v1alpha1.ReasonLeaving ||
		!strings.Contains(ready.Message, "connection refused") {
		t.Errorf("%+v", ready)
	}
}

// The member has no Membership, so the manager may not remove anything there. The person on call must find the reason
// in the status.
func TestTheStatusSaysWhyAMemberCannotBeLeft(t *testing.T) {
	s := newAPIServer(t, "member-uid") // it has no Membership
	r, mc := leaving(t, s, "member-uid", false)
	s.Close()
	if _, err := r.reconcileDelete(t.Context(), mc, nil); err != nil {
		t.Fatal(err)
	}
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Reachable True Answers", "CredentialsValid False NotJoined", "CollectorReady Unknown NotJoined", "Ready False NotJoined"},
		said(mc)); diff != "" {
		t.Error(diff)
	}
	if ready := meta.FindStatusCondition(mc.Status.Conditions, v1alpha1.ConditionReady); !strings.Contains(ready.Message, "hostctl unjoin east --forget") {
		t.Errorf("the message names no remedy: %s", ready.Message)
	}
}

// Without maxDeletes, deletions of members that do not answer would occupy every worker of the loop. The loop would
// then process no joins and write no conditions.
func TestDeletingUnreachableMembersLeavesWorkersFree(t *testing.T) {
	s := newAPIServer(t, "member-uid")
	r, mc := leaving(t, s, "member-uid", false)
	r.deleting.Store(maxDeletes)
	if again, err := r.reconcileDelete(t.Context(), mc, nil); err != nil || again.RequeueAfter != time.Second || len(s.written()) > 0 {
		t.Errorf("the manager must not withdraw from a third member at the same time: %v %v", again, err)
	}
	r.deleting.Store(0)
	s.CloseClientConnections()
	s.Close()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		r.fleet.ProbeNow("east")
		if is, _ := r.fleet.LastProbe("east"); !is.Reachable {
			break
		}
	}
	if err := r.withdraw(t.Context(), mc); err == nil || !strings.Contains(err.Error(), "leaving member east: nothing listens at "+s.URL) {
		t.Errorf("the manager must use the result of the last probe, without a request: %v", err)
	}
}
