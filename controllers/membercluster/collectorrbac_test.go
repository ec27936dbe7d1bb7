// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// extending runs keepReadable against the server s until the test ends.
func extending(t *testing.T, s *apiServer, every time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- keepReadable(ctx, s.connect(t), every) }()
	t.Cleanup(func() {
		cancel()
		if err := receive(t, ended); err != nil {
			t.Errorf("keepReadable returned %v", err)
		}
	})
}

// await waits until the role has exactly these API groups. It fails the test if 30 s pass without a change of the role.
func (s *apiServer) await(t *testing.T, groups ...string) {
	t.Helper()
	for {
		got := s.groups()
		diff := cmp.Diff(groups, got)
		if diff == "" {
			return
		}
		select {
		case <-s.changed:
		case <-time.After(30 * time.Second):
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

func (s *apiServer) awaitWatch(t *testing.T) {
	t.Helper()
	for {
		s.mu.Lock()
		n := len(s.watches)
		s.mu.Unlock()
		if n > 0 {
			return
		}
		receive(t, s.changed)
	}
}

func TestANewAPIGroupBecomesReadable(t *testing.T) {
	s := newAPIServer(t, "member-uid")
	s.joinWrites("apps")
	s.comes("deliveries.federation.fairlead.dev")
	extending(t, s, time.Hour)
	s.await(t, "apps", "federation.fairlead.dev") // the first comparison also adds the groups of CRDs that were created between the join and the start
	s.awaitWatch(t)
	s.comes("crates.shop.example.com")
	s.await(t, "apps", "federation.fairlead.dev", "shop.example.com")
	s.comes("boxes.shop.example.com") // a CRD whose group the role has already
	s.comes("shelves.late.example.com")
	s.await(t, "apps", "federation.fairlead.dev", "late.example.com", "shop.example.com")
	if got := s.written(); len(got) != 3 {
		t.Errorf("the role must not be written for a group that it has already: %v", got)
	}
}

// A CRD is created while a join runs, so the role that the join writes lacks the CRD's group.
func TestAGroupThatAJoinDroppedBecomesReadableAgain(t *testing.T) {
	s := newAPIServer(t, "member-uid")
	s.comes("crates.shop.example.com")
	extending(t, s, 20*time.Millisecond)
	s.await(t, "shop.example.com")
	s.joinWrites("apps")
	s.await(t, "apps", "shop.example.com")
}

func TestAWriteConflictOnTheRoleIsRetried(t *testing.T) {
	s := newAPIServer(t, "member-uid")
	s.refuses = 1
	s.comes("crates.shop.example.com")
	extending(t, s, time.Hour)
	s.await(t, "shop.example.com")
}
