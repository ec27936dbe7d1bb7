// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

func crdOf(name string) client.Object {
	return &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

var errKilled = errors.New("killed")

// life simulates a process that is killed at its write number n, counted from 1 over all its clients. The API server gets
// that write, but the response is lost. A kill before a write has the same effect as a kill after the previous write.
type life struct{ n int }

func (l *life) write(do func() error) error {
	l.n--
	if l.n >= 0 {
		if err := do(); l.n > 0 {
			return err
		}
	}
	return errKilled
}

func (l *life) mortal(c client.WithWatch) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return l.write(func() error { return c.Delete(ctx, obj, opts...) })
		},
		DeleteAllOf: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteAllOfOption) error {
			return l.write(func() error { return c.DeleteAllOf(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return l.write(func() error { return c.Patch(ctx, obj, patch, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return l.write(func() error { return c.SubResource(sub).Patch(ctx, obj, patch, opts...) })
		},
	})
}

// writesOfLeave is the number of writes of Leave: four of Clear, one of the MemberCluster's status, two of Sever, one of the Secret
// and one of the finalizer.
const writesOfLeave = 9

func TestTheHostLeavesWithItsOwnCredentialWhereverItIsKilled(t *testing.T) {
	f := newFleet(t)
	shop := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings", Labels: map[string]string{v1alpha1.LabelUID: "u-1"}}}
	if err := f.east.Create(within(t), shop); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { remove(t, f.east, shop) })
	for n := range writesOfLeave + 2 { // with 0 the process is killed before its first write; in the last round it is not killed
		t.Run(fmt.Sprintf("killed after write %d", n), func(t *testing.T) {
			f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
			m := f.deleteMember(t, "east")
			delivery := &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: "fed.shop.web"}}
			delivery.Spec.Wrapper = v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop", Name: "web", UID: "u-1", Generation: 1}
			member := f.asHost(t, "east")
			if err := member.Create(within(t), delivery); err != nil {
				t.Fatal(err)
			}
			hostUID, err := cluster.Identity(within(t), f.host)
			if err != nil {
				t.Fatal(err)
			}
			l := &life{n: n}
			err = join.Leave(within(t), l.mortal(watching{f.host}), m.DeepCopy(), l.mortal(watching{member}), hostUID, nil)
			if dies := n <= writesOfLeave; dies != errors.Is(err, errKilled) {
				t.Fatalf("the first try: %v", err)
			}
			if m, err = join.FindMember(within(t), f.host, "east"); err != nil {
				t.Fatal(err)
			}
			if m != nil { // the manager is restarted; an API server may still accept the token of the deleted account, or refuse it
				if err := join.Leave(within(t), f.host, m, member, hostUID, nil); err != nil {
					t.Fatal(err)
				}
			}
			f.awaitClean(t, f.east)
			if m, err := join.FindMember(within(t), f.host, "east"); m != nil || err != nil {
				t.Errorf("the MemberCluster is still there: %v %v", m, err)
			}
			if err := f.host.Get(within(t), types.NamespacedName{Namespace: v1alpha1.SystemNamespace, Name: "east"}, &corev1.Secret{}); !cluster.Absent(err) {
				t.Errorf("the Secret is still there: %v", err)
			}
			if err := f.east.Get(within(t), client.ObjectKeyFromObject(shop), shop); err != nil || shop.Labels[v1alpha1.LabelUID] == "" {
				t.Errorf("the workload: %v %v", shop.Labels, err)
			}
		})
	}
}

// watching adds the method Watch, which interceptor needs and no test calls.
type watching struct{ client.Client }

func (w watching) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return nil, errors.ErrUnsupported
}

func (f *fleet) deleteMember(t *testing.T, name string) *v1alpha1.MemberCluster {
	t.Helper()
	remove(t, f.host, &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	m, err := join.FindMember(within(t), f.host, name)
	if err != nil || m == nil || m.DeletionTimestamp == nil {
		t.Fatalf("the finalizer does not hold it: %v %v", m, err)
	}
	return m
}

func TestLeavingRemovesNothingFromTheMemberOfAnotherHost(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	hostUID, err := cluster.Identity(within(t), f.host)
	if err != nil {
		t.Fatal(err)
	}
	before := ours(t, f.east)
	for name, err := range map[string]error{
		"of another host":          join.Withdraw(within(t), f.east, "someone-else", "east", nil),
		"of this, by another name": join.Withdraw(within(t), f.east, hostUID, "ost", nil),
	} {
		var notOurs *join.NotOursError
		if !errors.As(err, &notOurs) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, ours(t, f.east)); diff != "" {
		t.Error(diff)
	}
}

func TestAHostThatIsItsOwnMemberKeepsItsPartsWhenItLeaves(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	r := f.mustJoin(t, f.hostConfig, join.Options{Name: "self"})
	if !r.OwnMember {
		t.Error("nobody said that the host joins itself")
	}
	hostUID, member := r.Host.UID, f.asHost(t, "self")
	if err := join.Leave(within(t), f.host, f.deleteMember(t, "self"), member, hostUID, nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for _, kept := range []string{"Namespace fairlead-system", "Secret fairlead-system/east", "MemberCluster east"} {
		want[kept] = ""
	}
	var got map[string]string
	eventually(t, "the member's part is gone", func(context.Context) bool {
		got = ours(t, f.host)
		for what := range got {
			got[what] = ""
		}
		return len(got) <= len(want)
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if m, err := join.FindMember(within(t), f.host, "east"); m == nil || err != nil {
		t.Errorf("the other member: %v %v", m, err)
	}
}

func TestTheNamespaceStaysWhereItIsNotTheMembersAlone(t *testing.T) {
	f := newFleet(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.SystemNamespace}}
	for name, prepare := range map[string]func() (undo func()){
		"it was there before the join": func() func() {
			if err := f.east.Create(within(t), namespace.DeepCopy()); err != nil {
				t.Fatal(err)
			}
			f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
			return func() {}
		},
		"the member has become a host since": func() func() {
			f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
			makeHost(t, f.east)
			return func() { remove(t, f.east, crdOf("memberclusters."+v1alpha1.Group)) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			undo := prepare()
			defer undo()
			member := f.asHost(t, "east")
			eventually(t, "the member serves what it serves", func(context.Context) bool {
				_, err := member.RESTMapper().RESTMapping(schema.GroupKind{Group: v1alpha1.Group, Kind: "Delivery"})
				return err == nil
			})
			hostUID, err := cluster.Identity(within(t), f.host)
			if err != nil {
				t.Fatal(err)
			}
			if err := join.Leave(within(t), f.host, f.deleteMember(t, "east"), member, hostUID, nil); err != nil {
				t.Fatal(err)
			}
			eventually(t, "only the namespace is left", func(context.Context) bool { return len(ours(t, f.east)) == 1 })
			there := namespace.DeepCopy()
			if err := f.east.Get(within(t), client.ObjectKeyFromObject(there), there); err != nil || there.DeletionTimestamp != nil {
				t.Errorf("the namespace: %v %v", there.DeletionTimestamp, err)
			}
			remove(t, f.east, there)
			f.awaitClean(t, f.east)
		})
	}
}

func TestUnjoin(t *testing.T) {
	f := newFleet(t)
	for name, tc := range map[string]struct {
		opts    join.UnjoinOptions
		admin   bool // true if the unjoin has the member's kubeconfig
		wantErr string
		left    bool // true if Fairlead's objects stay on the member
	}{
		"with the member's kubeconfig nobody else is needed": {opts: join.UnjoinOptions{Name: "east", Wait: 30 * time.Second}, admin: true},
		"a member that is gone for good is forgotten":        {opts: join.UnjoinOptions{Name: "east", Forget: true, Wait: 30 * time.Second}, left: true},
		"without a manager it waits and says so": {opts: join.UnjoinOptions{Name: "east", Wait: 300 * time.Millisecond}, left: true,
			wantErr: "check that the manager runs"},
		"a name that nobody has": {opts: join.UnjoinOptions{Name: "west"}, left: true, wantErr: "the host has no member of that name"},
	} {
		t.Run(name, func(t *testing.T) {
			f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
			member := f.eastConfig
			if !tc.admin {
				member = nil
			}
			err := join.Unjoin(within(t), f.hostConfig, member, tc.opts, func(steps.Step) {})
			if diff := errortext.Diff(tc.wantErr, err); diff != "" {
				t.Error(diff)
			}
			if m, err := join.FindMember(within(t), f.host, "east"); err != nil || tc.wantErr == "" && m != nil {
				t.Errorf("the MemberCluster is still there: %v %v", m, err)
			}
			if tc.left && len(ours(t, f.east)) == 0 {
				t.Error("the member was cleaned")
			}
			f.leave(t, f.eastConfig, "east") // also removes what the unjoin left on the member
		})
	}
}
