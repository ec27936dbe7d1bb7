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

// leaving returns the loop with the member east, which is connected and being deleted.
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
				t.Errorf("the other cluster was written to: %s", diff)
			}
			if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(mc), mc); err != nil || len(mc.Finalizers) == 0 {
				t.Errorf("the MemberCluster is gone: %v", err)
			}
			err = r.withdraw(t.Context(), mc)
			for _, words := range []string{"clone-uid", "member-uid", "hostctl unjoin east --forget"} {
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("the error does not say %q: %v", words, err)
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
				t.Errorf("the MemberCluster is still there: %v", err)
			}
			if got := s.written(); len(got) == 0 || !strings.HasPrefix(got[0], http.MethodDelete) {
				t.Errorf("the manager did not withdraw: %v", got)
			}
		})
	}
}

// Probes succeed, but the manager cannot withdraw: Ready must not be True.
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

// The on-call finds the reason in the status, like the reasons of other problems.
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

// Otherwise members that do not answer would take every worker of the loop, and joins and conditions would stop.
func TestDeletingUnreachableMembersLeavesWorkersFree(t *testing.T) {
	s := newAPIServer(t, "member-uid")
	r, mc := leaving(t, s, "member-uid", false)
	r.deleting.Store(maxDeletes)
	if again, err := r.reconcileDelete(t.Context(), mc, nil); err != nil || again.RequeueAfter != time.Second || len(s.written()) > 0 {
		t.Errorf("the manager withdraws from a third member: %v %v", again, err)
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
	if err := r.withdraw(t.Context(), mc); err == nil || !strings.Contains(err.Error(), "leaving member east: the API server does not answer") {
		t.Errorf("the result of the last probe is not used: %v", err)
	}
}
