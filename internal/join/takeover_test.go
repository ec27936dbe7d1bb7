// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

func TestAMemberIsTakenOverAndAtNoMomentCanBothHostsWrite(t *testing.T) {
	r := newRivals(t, join.Options{Allow: []string{"core", "example.com/widgets"}, Namespaces: v1alpha1.NamespacesAll, Collector: v1alpha1.CollectorExternal})
	r.oldCollectorSpeaks(t)
	oldCollector := cluster.ServiceAccount(permissions.CollectorAccount)
	if err := r.east.Get(within(t), client.ObjectKeyFromObject(oldCollector), oldCollector); err != nil {
		t.Fatal(err)
	}
	old, before := r.asHost(t, "east"), r.membership(t)
	oldWrites := func() error {
		return old.Create(within(t), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "old-"}}, client.DryRunAll)
	}
	registerAt(t, r.west, "https://another.example") // at the second host, another member has the name that the first host gave to this one
	eventually(t, "the first host can write", func(context.Context) bool { return oldWrites() == nil })

	var plan join.Takeover
	var revoked bool
	opts := join.Options{Name: "mine", DefaultHostName: "second", TakeOver: true, Confirm: func(p join.Takeover) error {
		plan = p
		return oldWrites() // the old host must be able to write until the user has confirmed
	}}
	_, err := join.Join(within(t), r.westConfig, r.eastConfig, opts, func(s steps.Step) {
		revoked = revoked || s.Outcome == steps.Removed && strings.Contains(s.What, "account of host prod")
		if err := oldWrites(); revoked && err == nil {
			t.Errorf("after %q the first host can write", s.What)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := oldWrites(); !apierrors.IsUnauthorized(err) || !revoked {
		t.Errorf("the first host's token: %v (revoked: %t)", err, revoked)
	}
	want := join.Takeover{Endpoint: r.eastConfig.Host, Owner: before.Spec, Since: before.CreationTimestamp.Time, Heartbeat: before.Status.RenewTime.Time,
		Deliveries: 1, Host: v1alpha1.HostIdentity{UID: r.secondUID, Name: "second"}, Grants: []string{"core", "example.com/widgets"}}
	if diff := cmp.Diff(want, plan); diff != "" {
		t.Errorf("what the person was told: %s", diff)
	}
	now := r.membership(t)
	if diff := cmp.Diff(v1alpha1.MembershipSpec{Host: want.Host, ClusterName: "mine", Grants: want.Grants, NamespacePolicy: v1alpha1.NamespacesManaged}, now.Spec); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(v1alpha1.MembershipStatus{}, now.Status); diff != "" {
		t.Errorf("the Membership still has the status that the first host's collector wrote: %s", diff)
	}
	if err := r.second.asHost(t, "mine").Get(within(t), client.ObjectKeyFromObject(r.delivery), &v1alpha1.Delivery{}); err != nil {
		t.Errorf("the second host does not get in: %v", err)
	}
	newCollector := cluster.ServiceAccount(permissions.CollectorAccount)
	if err := r.east.Get(within(t), client.ObjectKeyFromObject(newCollector), newCollector); err != nil || newCollector.UID == oldCollector.UID {
		t.Errorf("the first host's collector keeps its account: %v", err)
	}
	r.expectUntouched(t)
}

// oldCollectorSpeaks writes the status of the Membership, as the first host's collector would.
func (f *fleet) oldCollectorSpeaks(t *testing.T) {
	t.Helper()
	m := f.membership(t)
	m.Status = v1alpha1.MembershipStatus{RenewTime: metav1.NewMicroTime(time.Now().Truncate(time.Second)), CollectorVersion: "v1"}
	if err := f.east.Status().Update(within(t), m); err != nil {
		t.Fatal(err)
	}
}

func TestATakeoverThatIsKilledAnywhereIsFinishedByTheNextJoin(t *testing.T) {
	r := newRivals(t, join.Options{})
	killed := true
	for n := 1; killed; n += 2 { // every second write, because neighbouring writes leave similar states
		t.Run(fmt.Sprintf("killed after write %d", n), func(t *testing.T) {
			l := &life{n: n}
			_, err := join.Join(within(t), dying(r.westConfig, l), dying(r.eastConfig, l), takingOver("mine"), nil)
			if killed = err != nil; killed && !strings.Contains(err.Error(), errKilled.Error()) {
				t.Fatal(err)
			}
			again := takingOver("mine")
			again.TakeOver = r.membership(t).Spec.Host.UID == r.firstUID
			if !again.TakeOver && r.account(t) == r.oldAccount {
				t.Error("the Membership names the second host, but the first host's account still exists")
			}
			if _, err := join.Join(within(t), r.westConfig, r.eastConfig, again, nil); err != nil {
				t.Fatal(err)
			}
			if at := r.account(t); at == r.oldAccount || at == "" {
				t.Errorf("the account is %q, the first host's was %s", at, r.oldAccount)
			}
			if err := r.second.asHost(t, "mine").Get(within(t), client.ObjectKeyFromObject(r.delivery), &v1alpha1.Delivery{}); err != nil {
				t.Errorf("the second host does not get in: %v", err)
			}
			r.expectUntouched(t)
			// The first host takes the member back, so that the next round begins in the same state.
			if _, _, err := r.join(t, r.eastConfig, takingOver("east")); err != nil {
				t.Fatal(err)
			}
			if err := join.Unjoin(within(t), r.westConfig, nil, join.UnjoinOptions{Name: "mine", Forget: true}, nil); err != nil {
				t.Fatal(err)
			}
			r.oldAccount = r.account(t)
		})
		if t.Failed() {
			return
		}
	}
}

func TestATakeoverChecksEverythingBeforeItRemovesAnything(t *testing.T) {
	r := newRivals(t, join.Options{})
	before := ours(t, r.east)
	third := v1alpha1.HostIdentity{UID: "third-uid", Name: "third"}
	for name, tc := range map[string]struct {
		prepare func(t *testing.T)
		change  func(*join.Options)
		want    string
		// asked is true if the join must ask the user. touched is the object on the member that this case itself writes.
		asked   bool
		touched string
	}{
		"a person says no": {asked: true, want: "no",
			change: func(o *join.Options) { o.Confirm = func(join.Takeover) error { return errors.New("no") } }},
		"a dry run": {asked: true, change: func(o *join.Options) { o.DryRun = true }},
		"a grant that is none there": {want: "granting rights on member mine",
			change: func(o *join.Options) { o.Allow = []string{"any"} },
			prepare: func(t *testing.T) {
				r.eastConfig.Impersonate.UserName = "limited"
				t.Cleanup(func() { r.eastConfig.Impersonate.UserName = "" })
				limited(t, r.east, r.eastConfig)
			}},
		"somebody's Secret in the way at the host": {want: "Choose another name for the member", prepare: func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
			if err := r.west.Create(within(t), namespace); err != nil {
				t.Fatal(err)
			}
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "mine"}}
			if err := r.west.Create(within(t), secret); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { remove(t, r.west, secret) })
		}},
		"a third host is faster than the person's answer": {asked: true, want: `member third-name of host "third"`, touched: "Membership self",
			change: func(o *join.Options) {
				o.Confirm = func(join.Takeover) error {
					m := r.membership(t)
					m.Spec.Host, m.Spec.ClusterName = third, "third-name"
					return r.east.Update(within(t), m)
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.prepare != nil {
				tc.prepare(t)
			}
			opts, asked := takingOver("mine"), false
			if tc.change != nil {
				tc.change(&opts)
			}
			confirm := opts.Confirm
			opts.Confirm = func(p join.Takeover) error {
				asked = true
				if confirm == nil {
					return nil
				}
				return confirm(p)
			}
			_, err := join.Join(within(t), r.westConfig, r.eastConfig, opts, nil)
			if diff := errortext.Diff(tc.want, err); diff != "" {
				t.Error(diff)
			}
			if asked != tc.asked {
				t.Errorf("asked: %t", asked)
			}
			r.eastConfig.Impersonate.UserName = ""
			after, want := ours(t, r.east), before
			if tc.touched != "" {
				delete(after, tc.touched)
				want = map[string]string{}
				for what, version := range before {
					if what != tc.touched {
						want[what] = version
					}
				}
				edit(t, r.east, r.membership(t), func(m *v1alpha1.Membership) {
					m.Spec.Host, m.Spec.ClusterName = v1alpha1.HostIdentity{UID: r.firstUID, Name: "prod"}, "east"
				})
				before[tc.touched] = r.membership(t).ResourceVersion
			}
			if diff := cmp.Diff(want, after); diff != "" {
				t.Errorf("the member was written to: %s", diff)
			}
			if m, err := join.FindMember(within(t), r.west, "mine"); m != nil || err != nil {
				t.Errorf("the host was written to: %v %v", m, err)
			}
		})
	}
}

func TestATakeoverWithoutAnotherHostIsAnOrdinaryJoin(t *testing.T) {
	f := newFleet(t)
	opts := join.Options{Name: "east", TakeOver: true, Confirm: func(join.Takeover) error { return errors.New("asked") }}
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	for _, whose := range []string{"nobody's", "this host's already"} {
		r, reported, err := f.join(t, f.eastConfig, opts)
		if err != nil {
			t.Fatalf("%s: %v", whose, err)
		}
		if !slices.ContainsFunc(reported, func(s steps.Step) bool { return strings.Contains(s.What, "belongs to no other host") }) {
			t.Errorf("%s: it does not say so: %v", whose, reported)
		}
		if already := whose != "nobody's"; already != (r.Changes == 0) {
			t.Errorf("%s: %d changes", whose, r.Changes)
		}
	}
}

// The first host's CI joins the cluster again during the takeover, while the takeover waits until no API server accepts the
// old tokens.
func TestATakeoverRevokesWhatAJoinOfTheOldHostMakesMeanwhile(t *testing.T) {
	r := newRivals(t, join.Options{})
	isJoined := false
	_, err := join.Join(within(t), r.westConfig, r.eastConfig, takingOver("mine"), func(s steps.Step) {
		if isJoined || !strings.Contains(s.What, "waits before it creates the new account") {
			return
		}
		isJoined = true
		r.mustJoin(t, r.eastConfig, join.Options{Name: "east"})
	})
	if err != nil || !isJoined {
		t.Fatalf("the old host joined: %t, the takeover: %v", isJoined, err)
	}
	if owner := r.membership(t).Spec.Host.UID; owner != r.secondUID {
		t.Errorf("the member belongs to %s", owner)
	}
	old := r.asHost(t, "east")
	eventually(t, "the first host's token is refused", func(ctx context.Context) bool { return apierrors.IsUnauthorized(ask(ctx, old)) })
	if err := ask(within(t), r.second.asHost(t, "mine")); err != nil {
		t.Errorf("the second host's token: %v", err)
	}
}
