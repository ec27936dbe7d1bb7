// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
)

// rivals are two hosts, and east as the member "east" of the first, with a Delivery and a workload.
type rivals struct {
	*fleet
	second *fleet // the other host, in the place of the first
	secondUID,
	firstUID types.UID
	// oldAccount is that of the first host on east.
	oldAccount types.UID
	delivery   *v1alpha1.Delivery
	workload   *corev1.ConfigMap
}

func newRivals(t *testing.T, opts join.Options) *rivals {
	t.Helper()
	f := newFleet(t)
	makeHost(t, f.west)
	second := *f
	second.hostConfig, second.host = f.westConfig, f.west
	r := &rivals{fleet: f, second: &second}
	opts.Name = "east"
	first := f.mustJoin(t, f.eastConfig, opts)
	r.firstUID, r.oldAccount = first.Host.UID, r.account(t)
	var err error
	if r.secondUID, err = join.IdentityOf(within(t), f.west); err != nil {
		t.Fatal(err)
	}
	r.delivery = &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "fed.shop.web"}}
	r.delivery.Spec.Wrapper = v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: "web", UID: "u-1", Generation: 1}
	r.workload = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", Labels: map[string]string{v1alpha1.LabelUID: "u-1"}}}
	for _, obj := range []client.Object{r.delivery, r.workload} {
		if err := f.east.Create(within(t), obj); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { r.clean(t) })
	return r
}

// clean leaves three clusters as newFleet finds them, whoever has east by now.
func (r *rivals) clean(t *testing.T) {
	t.Helper()
	for _, f := range []*fleet{r.fleet, r.second} {
		for _, name := range []string{"east", "mine"} {
			m, err := join.FindMember(within(t), f.host, name)
			if err == nil && m == nil {
				continue
			}
			if err == nil {
				err = join.Unjoin(within(t), f.hostConfig, f.eastConfig, join.UnjoinOptions{Name: name, Wait: time.Minute}, func(join.Step) {})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	r.awaitClean(t, r.east)
	remove(t, r.east, r.workload)
	remove(t, r.west, crdOf("memberclusters."+v1alpha1.Group))
	if err := r.west.Delete(within(t), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	r.awaitClean(t, r.west)
	eventually(t, "the second host is none any more", func(ctx context.Context) bool {
		return join.Absent(r.west.Get(ctx, types.NamespacedName{Name: "memberclusters." + v1alpha1.Group}, crdOf("")))
	})
}

// account is the uid of the host's account on east, whichever host's it is; "" where there is none.
func (f *fleet) account(t *testing.T) types.UID {
	t.Helper()
	sa := join.ServiceAccount(join.HostAccount)
	if err := f.east.Get(within(t), client.ObjectKeyFromObject(sa), sa); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return sa.UID
}

func (f *fleet) membership(t *testing.T) *v1alpha1.Membership {
	t.Helper()
	m := &v1alpha1.Membership{}
	if err := f.east.Get(within(t), types.NamespacedName{Name: v1alpha1.MembershipName}, m); err != nil {
		t.Fatal(err)
	}
	return m
}

// takingOver are the options of a takeover on a member whose API server has no memory.
func takingOver(name string) join.Options {
	return join.Options{Name: name, DefaultHostName: "second", TakeOver: true}.Remembering(time.Millisecond)
}

// expectUntouched fails where what the first host has delivered was written to.
func (r *rivals) expectUntouched(t *testing.T) {
	t.Helper()
	for _, obj := range []client.Object{r.delivery, r.workload} {
		now := obj.DeepCopyObject().(client.Object)
		if err := r.east.Get(within(t), client.ObjectKeyFromObject(obj), now); err != nil || now.GetResourceVersion() != obj.GetResourceVersion() {
			t.Errorf("%s: version %s, was %s; %v", join.Describe(obj), now.GetResourceVersion(), obj.GetResourceVersion(), err)
		}
	}
}

func TestAMemberIsTakenOverAndAtNoMomentCanBothHostsWrite(t *testing.T) {
	r := newRivals(t, join.Options{Allow: []string{"core", "example.com/widgets"}, Collector: v1alpha1.CollectorExternal})
	r.oldCollectorSpeaks(t)
	old, before := r.asHost(t, "east"), r.membership(t)
	oldWrites := func() error {
		return old.Create(within(t), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", GenerateName: "old-"}}, client.DryRunAll)
	}
	registerAt(t, r.west, "https://another.example") // the first host's name for it is another member's at the second
	eventually(t, "the first host can write", func(context.Context) bool { return oldWrites() == nil })

	var plan join.Takeover
	var revoked bool
	opts := join.Options{Name: "mine", DefaultHostName: "second", TakeOver: true, Confirm: func(p join.Takeover) error {
		plan = p
		return oldWrites() // it goes on until a person has said so
	}}
	_, err := join.Join(within(t), r.westConfig, r.eastConfig, opts, func(s join.Step) {
		revoked = revoked || s.Outcome == join.Removed && strings.Contains(s.What, "account of host prod")
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
	if diff := cmp.Diff(v1alpha1.MembershipSpec{Host: want.Host, ClusterName: "mine", Grants: want.Grants}, now.Spec); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(v1alpha1.MembershipStatus{}, now.Status); diff != "" {
		t.Errorf("the first host's collector is taken for a sign of life: %s", diff)
	}
	if err := r.second.asHost(t, "mine").Get(within(t), client.ObjectKeyFromObject(r.delivery), &v1alpha1.Delivery{}); err != nil {
		t.Errorf("the second host does not get in: %v", err)
	}
	if err := r.east.Get(within(t), client.ObjectKeyFromObject(join.ServiceAccount(join.CollectorAccount)), &corev1.ServiceAccount{}); !join.Absent(err) {
		t.Errorf("the first host's collector keeps its account: %v", err)
	}
	r.expectUntouched(t)
}

// oldCollectorSpeaks writes what a collector says of itself.
func (f *fleet) oldCollectorSpeaks(t *testing.T) {
	t.Helper()
	m := f.membership(t)
	m.Status = v1alpha1.MembershipStatus{RenewTime: metav1.NewMicroTime(time.Now().Truncate(time.Second)), CollectorVersion: "v1"}
	if err := f.east.Status().Update(within(t), m); err != nil {
		t.Fatal(err)
	}
}

// dying is a connection that ends with its write number n, counted from 1: that one arrives, and its answer does not.
// Dry runs are no writes.
func dying(cfg *rest.Config, l *life) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (resp *http.Response, err error) {
			if req.Method == http.MethodGet || req.URL.Query().Has("dryRun") {
				if l.n <= 0 {
					return nil, errKilled
				}
				return next.RoundTrip(req)
			}
			if killed := l.write(func() error { resp, err = next.RoundTrip(req); return err }); killed != nil {
				return nil, killed
			}
			return resp, err
		})
	})
	return cfg
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func TestATakeoverThatIsKilledAnywhereIsFinishedByTheNextJoin(t *testing.T) {
	r := newRivals(t, join.Options{})
	killed := true
	for n := 1; killed; n += 2 { // of two that follow each other, most are alike
		t.Run(fmt.Sprintf("killed after write %d", n), func(t *testing.T) {
			l := &life{n: n}
			_, err := join.Join(within(t), dying(r.westConfig, l), dying(r.eastConfig, l), takingOver("mine"), nil)
			if killed = err != nil; killed && !strings.Contains(err.Error(), errKilled.Error()) {
				t.Fatal(err)
			}
			again := takingOver("mine")
			again.TakeOver = r.membership(t).Spec.Host.UID == r.firstUID
			if !again.TakeOver && r.account(t) == r.oldAccount {
				t.Error("it is the second host's member, and the first has its account still")
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
			// The first host takes it back, for the next round.
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

func TestNothingIsTakenBeforeAllIsKnownToGoWell(t *testing.T) {
	r := newRivals(t, join.Options{})
	before := ours(t, r.east)
	third := v1alpha1.HostIdentity{UID: "third-uid", Name: "third"}
	for name, tc := range map[string]struct {
		prepare func(t *testing.T)
		change  func(*join.Options)
		want    string
		// asked is whether it came to asking; touched is what the case itself writes to the member.
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
		"somebody's Secret in the way at the host": {want: "choose another name for the member", prepare: func(t *testing.T) {
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
		"a third host is faster than the person's answer": {asked: true, want: `the member third-name of host "third"`, touched: "Membership self",
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
			if diff := join.WordsDiff(tc.want, err); diff != "" {
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

func TestThereIsNothingToTakeFromNobody(t *testing.T) {
	f := newFleet(t)
	opts := join.Options{Name: "east", TakeOver: true, Confirm: func(join.Takeover) error { return errors.New("asked") }}
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	for _, whose := range []string{"nobody's", "this host's already"} {
		r, steps, err := f.join(t, f.eastConfig, opts)
		if err != nil {
			t.Fatalf("%s: %v", whose, err)
		}
		if !slices.ContainsFunc(steps, func(s join.Step) bool { return strings.Contains(s.What, "belongs to no other host") }) {
			t.Errorf("%s: it does not say so: %v", whose, steps)
		}
		if already := whose != "nobody's"; already != (r.Changes == 0) {
			t.Errorf("%s: %d changes", whose, r.Changes)
		}
	}
}

func TestTheHostThatLostAMemberLetsGoOfItAndTouchesNothing(t *testing.T) {
	r := newRivals(t, join.Options{})
	account := r.asHost(t, "east") // with the token that is revoked
	theirs := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "theirs"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: v1alpha1.SystemNamespace, Name: join.HostAccount}}}
	if err := r.east.Create(within(t), theirs); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, r.east, theirs) })
	_, steps, err := r.second.join(t, r.eastConfig, takingOver("mine"))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(steps, func(s join.Step) bool { return strings.HasSuffix(s.What, "RoleBinding default/theirs") }) {
		t.Errorf("a binding of somebody else's, which names the account and not the host, is not told: %v", steps)
	}
	eventually(t, "the first host is shut out", func(ctx context.Context) bool {
		return apierrors.IsUnauthorized(account.Get(ctx, types.NamespacedName{Name: v1alpha1.MembershipName}, &v1alpha1.Membership{}))
	})
	leave := func(member client.Client, cleared bool) func(*testing.T) error {
		return func(t *testing.T) error {
			t.Helper()
			m := r.deleteMember(t, "east")
			if cleared {
				m.Annotations = map[string]string{join.AnnotationCleared: "true"}
				if err := r.host.Update(within(t), m); err != nil {
					t.Fatal(err)
				}
			}
			return join.Leave(within(t), r.host, m, member, r.firstUID, nil)
		}
	}
	for name, tc := range map[string]struct {
		do   func(*testing.T) error
		want string
		// waits: its MemberCluster is still there then.
		waits bool
	}{
		"it joins again": {waits: true, want: `is a member of another host, "second"`, do: func(t *testing.T) error {
			_, _, err := r.join(t, r.eastConfig, join.Options{Name: "east"})
			if diff := join.WordsDiff("join with --take-over", err); diff != "" {
				t.Error(diff)
			}
			return err
		}},
		"its manager, whose account is gone":                     {waits: true, want: "Unauthorized", do: leave(account, false)},
		"its manager, with credentials that a person gave it":    {do: leave(r.east, false)},
		"its manager, which was killed when the most was gone":   {do: leave(r.east, true)},
		"its manager, likewise, whose account is gone meanwhile": {do: leave(account, true)},
		"a person who may do everything": {do: func(t *testing.T) error {
			return join.Unjoin(within(t), r.hostConfig, r.eastConfig, join.UnjoinOptions{Name: "east", Wait: time.Minute}, nil)
		}},
		"a person who forgets it": {do: func(t *testing.T) error {
			return join.Unjoin(within(t), r.hostConfig, nil, join.UnjoinOptions{Name: "east", Forget: true, Wait: time.Minute}, nil)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r.registerAnew(t)
			before := ours(t, r.east)
			err := tc.do(t)
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
			if diff := cmp.Diff(before, ours(t, r.east)); diff != "" {
				t.Errorf("the other host's member was written to: %s", diff)
			}
			if m, err := join.FindMember(within(t), r.host, "east"); err != nil || tc.waits != (m != nil) {
				t.Errorf("the MemberCluster: %v %v", m, err)
			}
			r.expectUntouched(t)
		})
	}
}

// registerAnew makes the first host know east as it did before it lost it.
func (r *rivals) registerAnew(t *testing.T) {
	t.Helper()
	m, err := join.FindMember(within(t), r.host, "east")
	if err != nil {
		t.Fatal(err)
	}
	if m != nil && m.DeletionTimestamp != nil {
		if err := join.Release(within(t), r.host, m, nil); err != nil {
			t.Fatal(err)
		}
		m = nil
	}
	if m != nil {
		return
	}
	registerAt(t, r.host, r.eastConfig.Host, v1alpha1.Finalizer)
}

// registerAt makes a MemberCluster east without joining anything.
func registerAt(t *testing.T, host client.Client, endpoint string, finalizers ...string) {
	t.Helper()
	m := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "east", Finalizers: finalizers}}
	m.Spec = v1alpha1.MemberClusterSpec{Endpoint: endpoint, Collector: v1alpha1.CollectorHost,
		NamespacePolicy: v1alpha1.NamespacesManaged, Suspend: v1alpha1.SuspendNone}
	m.Spec.CredentialsRef.Name = "east"
	if err := host.Create(within(t), m); err != nil {
		t.Fatal(err)
	}
}
