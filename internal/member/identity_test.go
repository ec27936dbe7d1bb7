// SPDX-License-Identifier: Apache-2.0

package member

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// verdict returns Usable, Ours and Reason of a probe result.
func verdict(s ProbeResult) []any { return []any{s.Usable(), s.Ours, s.Reason} }

var (
	accepted = []any{true, true, v1alpha1.ReasonAnswers}
	refused  = []any{false, false, v1alpha1.ReasonIdentityChanged}
)

func TestACloneOfTheJoinedClusterIsRefused(t *testing.T) {
	for name, joined := range map[string]string{
		"when the registry says which one was joined": "member-uid",
		"when the connection has seen it before":      "",
	} {
		t.Run(name, func(t *testing.T) {
			r, server := newRunning(t), newAPIServer(t)
			r.mustConnectAs(t, server, "a", types.UID(joined))
			if diff := cmp.Diff(accepted, verdict(r.next(t).is)); diff != "" {
				t.Fatal(diff)
			}
			server.becomes("clone-uid") // the clone answers between two successful probes
			r.waits(t, ProbeInterval)
			p := r.next(t)
			if diff := cmp.Diff(refused, verdict(p.is)); diff != "" {
				t.Fatal(diff)
			}
			for _, words := range []string{"clone-uid", "member-uid", "joined as east", "hostctl unjoin east --forget", "hostctl join east"} {
				if !strings.Contains(p.is.Message, words) {
					t.Errorf("the message does not say %q: %s", words, p.is.Message)
				}
			}
			if standing, _ := r.LastProbe("east"); standing.Usable() {
				t.Error("the fleet calls it usable")
			}
			r.waits(t, RetryInterval)
			if diff := cmp.Diff(refused, verdict(r.next(t).is)); diff != "" {
				t.Errorf("the next probe: %s", diff)
			}
			server.becomes("member-uid") // the endpoint leads to the joined cluster again
			r.waits(t, RetryInterval)
			if diff := cmp.Diff(accepted, verdict(r.next(t).is)); diff != "" {
				t.Errorf("the right one again: %s", diff)
			}
		})
	}
}

func TestAConnectionToAnotherClusterThanTheRegisteredOneIsNotUsable(t *testing.T) {
	r, server := newRunning(t), newAPIServer(t)
	r.mustConnectAs(t, server, "a", "first-uid")
	if diff := cmp.Diff(refused, verdict(r.next(t).is)); diff != "" {
		t.Error(diff)
	}
}

// The fleet has learned the uid from the first probe. Then the registry gets another uid. From then on only the
// registry's uid counts.
func TestAUIDThatTheRegistrySetsLaterCountsAtOnce(t *testing.T) {
	r, server := newRunning(t), newAPIServer(t)
	r.mustConnect(t, server, "a")
	r.next(t)
	r.mustConnectAs(t, server, "a", "member-uid")
	if standing, _ := r.LastProbe("east"); !standing.Usable() {
		t.Errorf("the same uid: %+v", standing)
	}
	r.mustConnectAs(t, server, "a", "first-uid")
	standing, _ := r.LastProbe("east")
	if diff := cmp.Diff(refused, verdict(standing)); diff != "" {
		t.Error(diff)
	}
	p := r.next(t) // the changed uid starts this probe; the clock does not move
	if diff := cmp.Diff([][]any{accepted, refused}, [][]any{verdict(p.was), verdict(p.is)}); diff != "" {
		t.Errorf("the listeners get: %s", diff)
	}
	if got := len(r.crew.engagements()); got != 1 {
		t.Errorf("it is engaged %d times", got)
	}
}

// A probe reads the uid of kube-system only when the Membership has a new uid. want is the number of these reads so
// far.
func TestTheUIDIsReadOnceForEachMembership(t *testing.T) {
	server := newAPIServer(t)
	conn := connected(t, server.config("t"))
	last := ProbeResult{}
	for i, step := range []struct {
		becomes string
		want    int
	}{{"", 1}, {"", 1}, {"clone-uid", 2}, {"clone-uid", 2}, {"member-uid", 3}} {
		if step.becomes != "" {
			server.becomes(types.UID(step.becomes))
		}
		last = conn.prober.probe(t.Context(), thisHost, last, now)
		if got := server.times(systemPath); got != step.want {
			t.Errorf("probe %d: kube-system was asked for %d times, want %d", i+1, got, step.want)
		}
	}
}

func TestAClusterThatDoesNotSayWhichItIsIsNotTakenForTheLastOne(t *testing.T) {
	server := newAPIServer(t)
	conn := connected(t, server.config("t"))
	well := conn.prober.probe(t.Context(), thisHost, ProbeResult{}, now)
	server.becomes("clone-uid")
	server.says(systemPath, apierrors.NewInternalError(errors.New("etcd")))
	is := conn.prober.probe(t.Context(), thisHost, well, now)
	if diff := cmp.Diff([]any{false, false, v1alpha1.ReasonUnreachable}, verdict(is)); diff != "" {
		t.Error(diff)
	}
}
