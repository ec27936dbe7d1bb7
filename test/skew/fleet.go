// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

const (
	// readyWithin bounds the wait after a stage.
	readyWithin = 5 * time.Minute
	// untouchedRounds is the number of rounds in the first stage. Their wrappers are never changed again, except the last ones.
	untouchedRounds = 10
)

// fleet is an installation, its users, and what the members had at the beginning.
type fleet struct {
	installation installation
	host         client.Client
	members      map[string]client.Client
	users        *users
	// untouched has the resourceVersion at the end of the first stage of each object that no user has changed since then, by member and name.
	untouched map[string]map[string]string
	// workloads has the workload of each member as it was at the end of the first stage.
	workloads map[string]*workload
}

// connect makes the clients of the clusters, which have to run.
func (f *fleet) connect() (err error) {
	f.members = make(map[string]client.Client)
	for _, name := range f.installation.members() {
		if f.members[name], err = f.clientFor(name); err != nil {
			return err
		}
	}
	if f.host, err = f.clientFor(provider.Host); err != nil {
		return err
	}
	f.users = &users{host: f.host, colours: make(map[string]string)}
	return nil
}

// clientFor makes a client for the host, or for the member with this name.
func (f *fleet) clientFor(name string) (client.Client, error) {
	config, err := f.installation.config(name)
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // no limit of the client: users come in bursts
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	return client.New(config, client.Options{Scheme: scheme})
}

// start calls up, lets the users write, and remembers what the members then have. It returns what it found, as one line.
func (f *fleet) start(ctx context.Context, up func(context.Context) error, step *progress.Step) (string, error) {
	if err := up(ctx); err != nil {
		return "", err
	}
	if err := f.connect(); err != nil {
		return "", err
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := f.host.Create(ctx, ns); err != nil {
		return "", err
	}
	if err := createWorkload(ctx, f.host); err != nil {
		return "", err
	}
	for range untouchedRounds {
		if err := f.users.round(ctx); err != nil {
			return "", err
		}
	}
	if err := f.awaitReady(ctx, step); err != nil {
		return "", err
	}
	if err := f.remember(ctx); err != nil {
		return "", err
	}
	return f.compare(ctx)
}

// remember notes what the members have at the end of the first stage and must keep through all the others.
func (f *fleet) remember(ctx context.Context) error {
	f.untouched, f.workloads = make(map[string]map[string]string), make(map[string]*workload)
	for name, member := range f.members {
		there, err := objectsOn(ctx, member)
		if err != nil {
			return err
		}
		f.untouched[name] = make(map[string]string)
		for object, is := range there {
			f.untouched[name][object] = is.ResourceVersion
		}
		if f.workloads[name], err = workloadOn(ctx, member); err != nil {
			return err
		}
		if is := f.workloads[name]; is == nil || is.applied.IsZero() || len(is.pods) != workloadPods {
			return fmt.Errorf("%s does not have Deployment %s/%s as applied by Fairlead with %d pods, though its wrapper is Ready: it has %+v",
				name, workloadNamespace, workloadName, workloadPods, is)
		}
	}
	return nil
}

// change calls up while the users write, and then compares the members with what the users wrote.
func (f *fleet) change(ctx context.Context, up func(context.Context) error, step *progress.Step) (string, error) {
	f.forgetTouched()
	changed := make(chan struct{})
	ctx, cancel := context.WithTimeout(ctx, 2*readyWithin)
	defer cancel()
	acted := make(chan error, 1)
	go func() { acted <- f.users.runRounds(ctx, changed) }()
	upErr := up(ctx)
	if upErr != nil {
		cancel()
	}
	close(changed)
	if err := <-acted; upErr != nil || err != nil {
		return "", errors.Join(upErr, err)
	}
	if err := f.awaitReady(ctx, step); err != nil {
		return "", err
	}
	return f.compare(ctx)
}

// forgetTouched takes out of f.untouched the objects of the last rounds, which the users are going to change.
func (f *fleet) forgetTouched() {
	for _, versions := range f.untouched {
		for r := f.users.rounds - 2; r < f.users.rounds; r++ {
			for i := range perRound {
				delete(versions, wrapperOf(r, i))
			}
		}
	}
}

// awaitReady waits until the host has exactly the wrappers that the users wrote, all of them Ready, and no member has a list of shared
// intents.
func (f *fleet) awaitReady(ctx context.Context, step *progress.Step) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		missing, err := f.missing(ctx)
		if err == nil && missing == "" {
			return nil
		}
		step.Update("%s", missing)
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s: %s: %w", readyWithin, missing, errors.Join(err, context.Cause(ctx)))
		case <-time.After(time.Second):
		}
	}
}
