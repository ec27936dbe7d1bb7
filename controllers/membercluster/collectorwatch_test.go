// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// watches is how many watches of the collector's Deployment the member got.
func (s *inspected) watches() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for url, count := range s.asked {
		if strings.Contains(url, "watch=true") {
			n += count
		}
	}
	return n
}

// awaitReads waits until the Deployment was read n times.
func (s *inspected) awaitReads(t *testing.T, n int) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(30 * time.Second); s.requests(deploymentPath) < n; {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("%d reads of the Deployment, want %d", s.requests(deploymentPath), n)
		}
	}
}

func TestACollectorThatRunsIsWatchedAndNotRead(t *testing.T) {
	s := inspect(t, true, func(s *inspected) {
		s.objects[deploymentPath], s.changes = running(), make(chan metav1.WatchEvent)
	})
	s.told(t)
	s.next(t, inspectEvery)
	s.next(t, inspectEvery)
	if n := s.requests(deploymentPath); n != 1 {
		t.Errorf("%d reads of a Deployment that is watched and has not changed", n)
	}

	stopped := running()
	stopped.Status.AvailableReplicas = 0
	s.set(podsPath, corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}})
	s.set(deploymentPath, stopped)
	select {
	case s.changes <- metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: []byte("{}")}}:
	case <-time.After(30 * time.Second):
		t.Fatal("no watch begins")
	}
	waited := make(chan struct{})
	defer close(waited)
	go func() { // the inspection waits until the rollout has settled
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-tick.C:
				s.clock.Step(settleFor)
			case <-waited:
				tick.Stop()
				return
			}
		}
	}()
	if state := s.told(t).collector; state.Reason != v1alpha1.ReasonCollectorStarting {
		t.Errorf("%+v", state)
	}
}

// A watch that ends is no change, and a member that ends every watch at once gets no more requests than before.
func TestAWatchThatEndsIsBegunAgainInItsTime(t *testing.T) {
	s := inspect(t, true, func(s *inspected) {
		s.objects[deploymentPath], s.changes = running(), make(chan metav1.WatchEvent)
	})
	s.told(t)
	sent := metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: []byte(`{"code": 410}`)}}
	select {
	case s.changes <- sent:
	case <-time.After(30 * time.Second):
		t.Fatal("no watch begins")
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); s.watches() < 2; <-tick.C {
		if time.Now().After(end) {
			t.Fatal("no second watch begins")
		}
		if s.requests(deploymentPath) > 1 && s.clock.Since(now) < inspectEvery {
			t.Fatal("the Deployment is read at once")
		}
		s.clock.Step(time.Second)
	}
	s.awaitReads(t, 2)
}

func TestACollectorThatMayNotBeWatchedIsRead(t *testing.T) {
	s := inspect(t, true, func(s *inspected) { s.objects[deploymentPath] = running() })
	s.told(t)
	for n := range 5 {
		s.awaitReads(t, n+1)
		s.next(t, inspectEvery)
	}
	if n := s.watches(); n != 1 {
		t.Errorf("the member refused %d watches within two minutes", n)
	}
}
