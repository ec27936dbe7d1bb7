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

// watches returns how many requests to watch the collector's Deployment the manager has sent to the member.
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

// awaitReads waits until the manager has read the Deployment n times.
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
		t.Errorf("the manager read a watched Deployment %d times although it has not changed", n)
	}

	stopped := running()
	stopped.Status.AvailableReplicas = 0
	s.set(podsPath, corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}})
	s.set(deploymentPath, stopped)
	select {
	case s.changes <- metav1.WatchEvent{Type: "MODIFIED", Object: runtime.RawExtension{Raw: []byte("{}")}}:
	case <-time.After(30 * time.Second):
		t.Fatal("the manager begins no watch of the Deployment")
	}
	waited := make(chan struct{})
	defer close(waited)
	go func() { // the inspection waits for settleFor before it reads the Deployment again
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

// The member ends every watch immediately, although the Deployment has not changed. It must not get more requests than
// a member that refuses watches.
func TestAWatchThatEndsIsBegunAgainInItsTime(t *testing.T) {
	s := inspect(t, true, func(s *inspected) {
		s.objects[deploymentPath], s.changes = running(), make(chan metav1.WatchEvent)
	})
	s.told(t)
	sent := metav1.WatchEvent{Type: "ERROR", Object: runtime.RawExtension{Raw: []byte(`{"code": 410}`)}}
	select {
	case s.changes <- sent:
	case <-time.After(30 * time.Second):
		t.Fatal("the manager begins no watch of the Deployment")
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(30 * time.Second); s.watches() < 2; <-tick.C {
		if time.Now().After(end) {
			t.Fatal("the manager begins no second watch of the Deployment")
		}
		if s.requests(deploymentPath) > 1 && s.clock.Since(now) < inspectEvery {
			t.Fatal("the manager must not read the Deployment when its watch ends")
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
		t.Errorf("the manager tried %d watches within two minutes, although the member refuses them", n)
	}
}
