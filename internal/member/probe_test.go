// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/redact"
	"github.com/fairlead-dev/fairlead/internal/testing/secretcorpus"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestProbe(t *testing.T) {
	memberships := schema.GroupResource{Group: v1alpha1.Group, Resource: "memberships"}
	for name, test := range map[string]struct {
		path             string
		answer           any
		reachable, valid bool
		reason           string
		words            string
	}{
		"a member that answers": {reachable: true, valid: true, reason: v1alpha1.ReasonAnswers},
		"a token that is not accepted": {
			path: membershipPath, answer: apierrors.NewUnauthorized("no"),
			reachable: true, reason: v1alpha1.ReasonUnauthorized, words: "or another host has taken the member over; run `hostctl join east --cluster-kubeconfig FILE` again",
		},
		"a missing permission": {
			path: membershipPath, answer: apierrors.NewForbidden(memberships, "self", errors.New("no rule")),
			reachable: true, reason: v1alpha1.ReasonForbidden, words: "hostctl join east",
		},
		"a missing permission at a later request": {
			path: systemPath, answer: apierrors.NewForbidden(memberships, "kube-system", errors.New("no rule")),
			reachable: true, reason: v1alpha1.ReasonForbidden, words: "hostctl join east",
		},
		"a cluster that was never joined": {
			path: membershipPath, answer: apierrors.NewNotFound(memberships, "self"),
			reachable: true, reason: v1alpha1.ReasonNotJoined, words: "no Membership",
		},
		"a member of another host": {
			path: membershipPath, answer: membership("other-uid", "west"),
			reachable: true, reason: v1alpha1.ReasonOtherHost,
			words: "(uid other-uid), which knows it as west; this host writes nothing there. To remove the member from this host, run `hostctl unjoin east --forget`",
		},
		"a cluster that was joined under another name": {
			path: membershipPath, answer: membership("host-uid", "west"),
			reachable: true, reason: v1alpha1.ReasonIdentityChanged, words: "leads to the member west, not to east",
		},
		"an API server that fails": {
			path: membershipPath, answer: apierrors.NewInternalError(errors.New("etcd")), reason: v1alpha1.ReasonUnreachable, words: "etcd",
		},
		"an API server that fails at a later request": {
			path: systemPath, answer: apierrors.NewInternalError(errors.New("etcd")), reason: v1alpha1.ReasonUnreachable, words: "etcd",
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer(t)
			if test.path != "" {
				server.says(test.path, test.answer)
			}
			is := connected(t, server.config("t")).prober.probe(t.Context(), thisHost, ProbeResult{}, now)
			want := []any{true, test.reachable, test.valid, test.reason, test.valid, test.valid}
			if diff := cmp.Diff(want, []any{is.Probed, is.Reachable, is.Valid, is.Reason, is.Usable(), is.Ours}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !strings.Contains(is.Message, test.words) {
				t.Errorf("the message does not say %q: %s", test.words, is.Message)
			}
		})
	}
}

// The message of a probe gets into the MemberCluster and into each wrapper on the member.
func TestNoSecretOfAnErrorIsInTheMessageOfAProbe(t *testing.T) {
	memberships := schema.GroupResource{Group: v1alpha1.Group, Resource: "memberships"}
	for _, text := range secretcorpus.InSentences(t) {
		for name, err := range map[string]error{
			"forbidden":          apierrors.NewForbidden(memberships, "self", errors.New(text)),
			"an error in it":     apierrors.NewInternalError(errors.New(text)),
			"a broken transport": errors.New(text),
		} {
			is := ProbeResult{}.refused("east", &rest.Config{Host: "https://10.0.0.1"}, err, now)
			if strings.Contains(is.Message, secretcorpus.Word) || !strings.Contains(is.Message, redact.Mark) {
				t.Errorf("%s, %q: %s", name, text, is.Message)
			}
		}
	}
}

// The API server answered an earlier request of this probe. Then the connection breaks.
func TestAProbeWhoseConnectionBreaksFindsTheMemberUnreachable(t *testing.T) {
	is := ProbeResult{Probed: true, Reachable: true}.refused("east", &rest.Config{}, errors.New("timeout"), now)
	if is.Reachable || is.Reason != v1alpha1.ReasonUnreachable {
		t.Errorf("%+v", is)
	}
}

func TestAnUnreachableMemberKeepsItsKnownFacts(t *testing.T) {
	server := newAPIServer(t)
	conn := connected(t, server.config("t"))
	well := conn.prober.probe(t.Context(), thisHost, ProbeResult{}, now)
	server.Close()
	is := conn.prober.probe(t.Context(), thisHost, well, now.Add(time.Minute))
	want := []any{false, true, v1alpha1.ReasonUnreachable, "v1.36.3", []string{"core"}}
	if diff := cmp.Diff(want, []any{is.Usable(), is.Ours, is.Reason, is.Version, is.Grants}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if string(is.UID) != "member-uid" {
		t.Errorf("uid %s", is.UID)
	}
}

func TestTheIdentityIsReadOnceAndHeartbeatsAreTimedByTheHostsClock(t *testing.T) {
	server := newAPIServer(t)
	conn := connected(t, server.config("t"))
	beat := func(at time.Time) {
		m := membership("host-uid", "east")
		m.Status.RenewTime = metav1.NewMicroTime(at)
		server.says(membershipPath, m)
	}
	beat(time.Time{})
	first := conn.prober.probe(t.Context(), thisHost, ProbeResult{}, now)
	if !first.HeartbeatChanged.IsZero() {
		t.Errorf("a heartbeat before there was one: %s", first.HeartbeatChanged)
	}
	beat(now.Add(-time.Hour)) // the member's clock is behind
	second := conn.prober.probe(t.Context(), thisHost, first, now.Add(time.Minute))
	third := conn.prober.probe(t.Context(), thisHost, second, now.Add(2*time.Minute))
	for name, got := range map[string]time.Time{"when it changed": second.HeartbeatChanged, "when it did not": third.HeartbeatChanged} {
		if !got.Equal(now.Add(time.Minute)) {
			t.Errorf("%s: %s", name, got)
		}
	}
	if server.times("/version") != 1 || server.times(systemPath) != 1 {
		t.Errorf("asked for the version %d times, for kube-system %d times", server.times("/version"), server.times(systemPath))
	}
	if first.Same(second) || !second.Same(third) {
		t.Error("the first heartbeat must change the result, and a probe without a new heartbeat must not")
	}
}

// A collector inside the manager cannot write a heartbeat while the manager does not reach the member.
func TestACollectorIsSilentOnlyAfterTheMemberWasUsableForLong(t *testing.T) {
	conn := connected(t, newAPIServer(t).config("t"))
	first := conn.prober.probe(t.Context(), thisHost, ProbeResult{}, now)
	for _, test := range []struct {
		name string
		last ProbeResult
		at   time.Time
		want bool
	}{
		{"in time", first, now.Add(HeartbeatTimeout), false},
		{"too late", first, now.Add(HeartbeatTimeout + 1), true},
		{"after an outage", ProbeResult{Probed: true, Heartbeat: first.Heartbeat, HeartbeatChanged: now}, now.Add(time.Hour), false},
	} {
		is := conn.prober.probe(t.Context(), thisHost, test.last, test.at)
		if is.CollectorSilent != test.want || first.Same(is) == (test.want && test.last.Usable()) {
			t.Errorf("%s: %+v", test.name, is)
		}
	}
}

func TestTheSkewOfTheClocksIsMeasuredAndStaysSteady(t *testing.T) {
	r, server := newRunning(t), newAPIServer(t)
	server.showsClock(now.Add(time.Hour))
	r.mustConnect(t, server, "t")
	first := r.next(t).is
	if (first.Ahead-time.Hour).Abs() > time.Second || !first.There(now).Equal(now.Add(first.Ahead)) {
		t.Errorf("ahead by %s", first.Ahead)
	}
	for _, test := range []struct {
		is   time.Duration
		news bool
	}{{time.Hour + 40*time.Second, false}, {-2 * time.Hour, true}, {0, true}} {
		server.showsClock(r.clock.Now().Add(ProbeInterval + test.is))
		r.waits(t, ProbeInterval)
		p := r.next(t)
		if p.was.Same(p.is) == test.news || test.news && (p.is.Ahead-test.is).Abs() > time.Second {
			t.Errorf("a clock that is %s ahead: %s after %s", test.is, p.is.Ahead, p.was.Ahead)
		}
	}
}
