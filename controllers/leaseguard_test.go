// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
	clocktesting "k8s.io/utils/clock/testing"
)

// lock takes every record, after a while, unless it fails.
type lock struct {
	resourcelock.Interface
	clock *clocktesting.FakeClock
	takes time.Duration
	fails bool
}

func (l *lock) Identity() string { return "me" }
func (l *lock) Create(context.Context, resourcelock.LeaderElectionRecord) error {
	return l.Update(context.Background(), resourcelock.LeaderElectionRecord{})
}

func (l *lock) Update(context.Context, resourcelock.LeaderElectionRecord) error {
	l.clock.Step(l.takes)
	if l.fails {
		return errors.New("no")
	}
	return nil
}

func TestOnlyAManagerWithAFreshLeaseWrites(t *testing.T) {
	mine, nobodys := resourcelock.LeaderElectionRecord{HolderIdentity: "me"}, resourcelock.LeaderElectionRecord{}
	for name, test := range map[string]struct {
		happens func(*leaseGuard, *lock) error
		words   string // "" where it may write
	}{
		"before it has the lease":         {func(*leaseGuard, *lock) error { return nil }, "does not hold the lease"},
		"as soon as it has it":            {func(n *leaseGuard, _ *lock) error { return n.Create(t.Context(), mine) }, ""},
		"as soon as it has taken it over": {func(n *leaseGuard, _ *lock) error { return n.Update(t.Context(), mine) }, ""},
		"after it has given it back": {func(n *leaseGuard, _ *lock) error {
			return errors.Join(n.Create(t.Context(), mine), n.Update(t.Context(), nobodys))
		}, "does not hold the lease"},
		"as long as its elector would wait": {func(n *leaseGuard, l *lock) error {
			defer l.clock.Step(19 * time.Second)
			return n.Create(t.Context(), mine)
		}, ""},
		"after it was frozen for longer": {func(n *leaseGuard, l *lock) error {
			defer l.clock.Step(20 * time.Second)
			return n.Create(t.Context(), mine)
		}, "renewed 20s ago"},
		"counted from before the renewal": {func(n *leaseGuard, l *lock) error { l.takes = 21 * time.Second; return n.Create(t.Context(), mine) }, "renewed 21s ago"},
		"a renewal that failed counts no": {func(n *leaseGuard, l *lock) error { l.fails = true; _ = n.Create(t.Context(), mine); return nil }, "does not hold the lease"},
		"when the machine's clock was moved": {func(n *leaseGuard, l *lock) error {
			defer l.clock.SetTime(l.clock.Now().Add(time.Hour))
			return n.Create(t.Context(), mine)
		}, "renewed 1h0m0s ago"},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lock{clock: clocktesting.NewFakeClock(time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC))}
			n := &leaseGuard{Interface: l, clock: l.clock, validFor: 20 * time.Second}
			if err := test.happens(n, l); err != nil {
				t.Fatal(err)
			}
			err := n.check()
			if (err == nil) != (test.words == "") || err != nil && !strings.Contains(err.Error(), test.words) {
				t.Error(err)
			}
		})
	}
}
