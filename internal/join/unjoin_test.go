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
)

// The person who unjoined waits for the manager, and another joins the cluster as soon as its MemberCluster is gone.
func TestAnUnjoinThatWaitsLeavesTheSecretOfANewJoin(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	host, err := join.IdentityOf(within(t), f.host)
	if err != nil {
		t.Fatal(err)
	}
	again := func() { // the manager, then the join
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

// The manager's last renewal may write the Secret while an unjoin deletes it.
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
	if err := join.Unjoin(within(t), races, f.eastConfig, join.UnjoinOptions{Name: "east", Wait: 10 * time.Second}, func(join.Step) {}); err != nil {
		t.Error(err)
	}
	if err := f.host.Get(within(t), client.ObjectKeyFromObject(secret), &corev1.Secret{}); !join.Absent(err) {
		t.Errorf("the Secret: %v", err)
	}
	f.leave(t, f.eastConfig, "east")
}
