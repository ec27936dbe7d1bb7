// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// One person unjoins and waits for the manager. Another person joins the cluster again as soon as its MemberCluster is
// deleted.
func TestAnUnjoinThatWaitsLeavesTheSecretOfANewJoin(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	host, err := cluster.Identity(within(t), f.host)
	if err != nil {
		t.Fatal(err)
	}
	again := func() { // acts as the manager, which completes the deletion, and then as the other person
		m, err := join.FindMember(within(t), f.host, "east")
		if err != nil || m == nil || m.DeletionTimestamp == nil {
			t.Fatalf("%v %v", m, err)
		}
		if err := join.Leave(within(t), f.host, m, f.east, host, nil); err != nil {
			t.Fatal(err)
		}
		f.awaitClean(t, f.east)
		f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	}
	waits := before(f.hostConfig, 2, func(req *http.Request) bool {
		return req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/memberclusters/east")
	}, again)
	if err := join.Unjoin(within(t), waits, nil, join.UnjoinOptions{Name: "east", Wait: 2 * time.Minute}, nil); err != nil {
		t.Fatal(err)
	}
	f.expectAccounted(t)
}

// The manager's last renewal writes the Secret while the unjoin deletes it.
func TestAnUnjoinDeletesASecretThatIsWrittenMeanwhile(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	_, secret := f.registered(t, "east")
	races := before(f.hostConfig, 1, func(req *http.Request) bool {
		return req.Method == http.MethodDelete && strings.HasSuffix(req.URL.Path, "/secrets/east")
	}, func() {
		secret.Labels = map[string]string{"written": "meanwhile"}
		if err := f.host.Update(within(t), secret); err != nil {
			t.Fatal(err)
		}
	})
	if err := join.Unjoin(within(t), races, f.eastConfig, join.UnjoinOptions{Name: "east", Wait: 10 * time.Second}, func(steps.Step) {}); err != nil {
		t.Error(err)
	}
	if err := f.host.Get(within(t), client.ObjectKeyFromObject(secret), &corev1.Secret{}); !cluster.Absent(err) {
		t.Errorf("the Secret: %v", err)
	}
	f.leave(t, f.eastConfig, "east")
}

// The manager has completed the deletion of a member. Then the first join of a new member with the same name stores its
// Secret, and has not created its MemberCluster yet.
func TestAnUnjoinThatWaitsLeavesTheSecretOfAFirstJoin(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	host, err := cluster.Identity(within(t), f.host)
	if err != nil {
		t.Fatal(err)
	}
	_, secret := f.registered(t, "east")
	next := &corev1.Secret{Type: secret.Type, Data: secret.Data}
	next.Namespace, next.Name = secret.Namespace, secret.Name
	t.Cleanup(func() { remove(t, f.host, next) })
	waits := before(f.hostConfig, 2, func(req *http.Request) bool {
		return req.Method == http.MethodGet && strings.HasSuffix(req.URL.Path, "/memberclusters/east")
	}, func() {
		m, err := join.FindMember(within(t), f.host, "east")
		if err != nil || m == nil || m.DeletionTimestamp == nil {
			t.Fatalf("%v %v", m, err)
		}
		if err := join.Leave(within(t), f.host, m, f.east, host, nil); err != nil {
			t.Fatal(err)
		}
		if err := f.host.Create(within(t), next); err != nil {
			t.Fatal(err)
		}
	})
	if err := join.Unjoin(within(t), waits, nil, join.UnjoinOptions{Name: "east", Wait: 2 * time.Minute}, nil); err != nil {
		t.Fatal(err)
	}
	if err := f.host.Get(within(t), client.ObjectKeyFromObject(next), &corev1.Secret{}); err != nil {
		t.Errorf("the Secret of the first join: %v", err)
	}
}

// The MemberCluster disappears before the manager has withdrawn from the member, because it has no finalizer or because a
// person removes the finalizer.
func TestAnUnjoinWithdrawsAlthoughItsMemberClusterDisappears(t *testing.T) {
	for name, tc := range map[string]struct {
		method, path string
		nth          int
	}{
		"before the unjoin reads it again": {http.MethodGet, "/memberclusters/east", 2},
		"after the member is cleared":      {http.MethodPatch, "/memberclusters/east/status", 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t)
			f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
			t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
			goes := before(f.hostConfig, tc.nth, func(req *http.Request) bool {
				return req.Method == tc.method && strings.HasSuffix(req.URL.Path, tc.path)
			}, func() {
				m, err := join.FindMember(within(t), f.host, "east")
				if err == nil && m != nil {
					err = join.Release(within(t), f.host, m, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
			})
			if err := join.Unjoin(within(t), goes, f.eastConfig, join.UnjoinOptions{Name: "east", Wait: time.Minute}, nil); err != nil {
				t.Fatal(err)
			}
			f.awaitClean(t, f.east)
			if uid := f.account(t); uid != "" {
				t.Errorf("the host's account is still on the member: %s", uid)
			}
		})
	}
}
