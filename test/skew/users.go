// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

const (
	// namespace has the wrappers on the host, and their objects on the members.
	namespace = "skew"
	// perRound is how many wrappers the users create at the same time in one round, so many that the manager shares intents. In the next round
	// they change half of these, and in the one after that they delete a quarter.
	perRound = 16
	// roundEvery is the time between the beginnings of two rounds.
	roundEvery = time.Second
	// maxRounds is the largest number of rounds of a stage. More wrappers would make the stage slower and find nothing else.
	maxRounds = 20
	// roundsAfter is the number of these rounds that follow after a stage has changed its last program.
	roundsAfter = 2
	// writeAgain is the time until a user repeats a write that the host refused. It refuses all of them while no manager admits wrappers.
	writeAgain = 100 * time.Millisecond
)

// users create, change and delete wrappers, and remember what they wrote.
type users struct {
	host client.Client
	// colours has the value in the ConfigMap of each wrapper that exists, by the wrapper's name.
	colours map[string]string
	rounds  int
}

// runRounds makes rounds until changed is closed, and the last ones after that.
func (u *users) runRounds(ctx context.Context, changed <-chan struct{}) error {
	tick := time.NewTicker(roundEvery)
	defer tick.Stop()
	for range maxRounds - roundsAfter {
		if err := u.round(ctx); err != nil {
			return err
		}
		select {
		case <-tick.C:
			continue
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		break
	}
	select {
	case <-changed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for range roundsAfter {
		if err := u.round(ctx); err != nil {
			return err
		}
	}
	return nil
}

// round makes one round of writes, all at the same time. It returns when the host has accepted each of them.
func (u *users) round(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	r := u.rounds
	u.rounds++
	for i := range perRound {
		g.Go(func() error { return u.create(ctx, wrapperOf(r, i)) })
		if r >= 1 && i%2 == 0 {
			g.Go(func() error { return u.change(ctx, wrapperOf(r-1, i)) })
		}
		if r >= 2 && i%4 == 0 {
			g.Go(func() error { return u.remove(ctx, wrapperOf(r-2, i)) })
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	for i := range perRound {
		u.colours[wrapperOf(r, i)] = "first"
		if r >= 1 && i%2 == 0 {
			u.colours[wrapperOf(r-1, i)] = "second"
		}
		if r >= 2 && i%4 == 0 {
			delete(u.colours, wrapperOf(r-2, i))
		}
	}
	return nil
}

// wrapperOf is the name of a wrapper, and of its ConfigMap.
func wrapperOf(round, i int) string { return fmt.Sprintf("r%04d-%02d", round, i) }

func (u *users) create(ctx context.Context, name string) error {
	return createWrapper(ctx, u.host, build.Federated(name).In(namespace).With(build.ConfigMap(name, "colour", "first")).ToMatching().Obj())
}

// createWrapper creates a wrapper, and repeats that until the host accepts it.
func createWrapper(ctx context.Context, host client.Client, w *v1alpha1.Federated) error {
	return untilAccepted(ctx, func() error {
		if err := host.Create(ctx, w.DeepCopy()); !apierrors.IsAlreadyExists(err) {
			return err
		}
		return nil // an earlier try succeeded, and its answer was lost
	})
}

func (u *users) change(ctx context.Context, name string) error {
	return untilAccepted(ctx, func() error {
		w := &v1alpha1.Federated{}
		if err := u.host.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, w); err != nil {
			return err
		}
		w.Spec.Objects = build.Federated(name).With(build.ConfigMap(name, "colour", "second")).Obj().Spec.Objects
		return u.host.Update(ctx, w)
	})
}

func (u *users) remove(ctx context.Context, name string) error {
	w := &v1alpha1.Federated{}
	w.Namespace, w.Name = namespace, name
	return untilAccepted(ctx, func() error { return client.IgnoreNotFound(u.host.Delete(ctx, w)) })
}

// untilAccepted repeats a write until the host accepts it.
func untilAccepted(ctx context.Context, write func() error) error {
	for {
		err := write()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: the last answer of the host: %w", context.Cause(ctx), err)
		case <-time.After(writeAgain):
		}
	}
}
