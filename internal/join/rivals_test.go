// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// rivals are two hosts and the cluster east, which is member "east" of the first host and has a Delivery and a workload.
type rivals struct {
	*fleet
	second *fleet // the same clusters, with the second host in the place of the first
	secondUID,
	firstUID types.UID
	// oldAccount is the uid of the first host's account on east.
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
	if r.secondUID, err = cluster.Identity(within(t), f.west); err != nil {
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

// clean resets the three clusters, whichever host east belongs to, so that the next test can use them.
func (r *rivals) clean(t *testing.T) {
	t.Helper()
	for _, f := range []*fleet{r.fleet, r.second} {
		for _, name := range []string{"east", "mine"} {
			m, err := join.FindMember(within(t), f.host, name)
			if err == nil && m == nil {
				continue
			}
			if err == nil {
				err = join.Unjoin(within(t), f.hostConfig, f.eastConfig, join.UnjoinOptions{Name: name, Wait: time.Minute}, func(steps.Step) {})
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
		return cluster.Absent(r.west.Get(ctx, types.NamespacedName{Name: "memberclusters." + v1alpha1.Group}, crdOf("")))
	})
}

// account returns the uid of the host's account on east, whichever host uses it; "" if the account does not exist.
func (f *fleet) account(t *testing.T) types.UID {
	t.Helper()
	sa := cluster.ServiceAccount(permissions.HostAccount)
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

// takingOver returns the options of a takeover that waits only 1 ms for the member's API servers to forget the old tokens.
func takingOver(name string) join.Options {
	return join.Options{Name: name, DefaultHostName: "second", TakeOver: true}.Remembering(time.Millisecond)
}

// expectUntouched fails if a client wrote to an object that the first host delivered.
func (r *rivals) expectUntouched(t *testing.T) {
	t.Helper()
	for _, obj := range []client.Object{r.delivery, r.workload} {
		now := obj.DeepCopyObject().(client.Object)
		if err := r.east.Get(within(t), client.ObjectKeyFromObject(obj), now); err != nil || now.GetResourceVersion() != obj.GetResourceVersion() {
			t.Errorf("%s: version %s, was %s; %v", cluster.Describe(obj), now.GetResourceVersion(), obj.GetResourceVersion(), err)
		}
	}
}

// dying returns a connection that breaks at the write number l.n, counted from 1. The API server gets that write, but its
// response is lost. Dry runs do not count as writes.
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
