// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
	"github.com/fairlead-dev/fairlead/internal/testing/audit"
	"github.com/fairlead-dev/fairlead/test/bench/kubefed"
)

const kubefedPeer = "kubefed"

// peers are the values that PEER accepts.
var peers = []string{kubefedPeer}

const (
	// kubefedModule is the folder of the Go module that requires KubeFed, relative to the root of the repository.
	kubefedModule = "test/bench/kubefed/module"
	// kubefedProgram is the path to which the bench writes KubeFed's controller manager, relative to the root of the repository.
	kubefedProgram = "bin/peers/kubefed-controller-manager"
)

// checkPeer returns an error if the bench does not know the peer, if -keep is set too, or if the peer can do none of the chosen works.
func (o *options) checkPeer() error {
	if o.peer == "" {
		return nil
	}
	if !slices.Contains(peers, o.peer) {
		return fmt.Errorf("PEER: there is no peer %q; the peers are: %s", o.peer, strings.Join(peers, ", "))
	}
	if o.keep {
		return errors.New("-keep cannot be used with PEER: the peer is measured on a sandbox of its own, while Fairlead's is down")
	}
	for _, w := range works {
		if w.besidePeer && o.wants(w.name) {
			return nil
		}
	}
	return fmt.Errorf("WORKS: none of %s has a counterpart in %s, which can do %s", strings.Join(o.works, ", "), o.peer, strings.Join(peerWorks(), ", "))
}

// peerWorks are the names of the works that a peer can do.
func peerWorks() []string {
	var names []string
	for _, w := range works {
		if w.besidePeer {
			names = append(names, w.name)
		}
	}
	return names
}

// buildPeer builds the peer before any work begins, so that a failed build costs no measuring time.
func buildPeer(ctx context.Context, p *progress.Printer) (federation, error) {
	step := p.Step("building KubeFed: some minutes the first time")
	release, err := kubefed.Build(ctx, kubefedModule, kubefedProgram)
	if err != nil {
		step.Fail(errors.New("see below"))
		return nil, err
	}
	step.Donef("built KubeFed %s", release.Version)
	return kubefedFederation{release}, nil
}

// kubefedFederation measures KubeFed. KubeFed's controller manager authenticates in the same ways as Fairlead's manager: at the host with the same
// certificate, and at each member with a token. So authentication costs the API servers the same for both.
type kubefedFederation struct{ release *kubefed.Release }

func (k kubefedFederation) name() string { return "KubeFed " + k.release.Version }

func (kubefedFederation) options(o *sandbox.Options) { o.Bare = true }

func (k kubefedFederation) install(ctx context.Context, b *bed) (err error) {
	b.step = b.print.Step("installing %s and joining the members", k.name())
	defer func() {
		if err != nil {
			b.step.Fail(err)
			err = fmt.Errorf("installing %s: %w", k.name(), err)
		} else {
			b.step.Done()
		}
	}()
	if err := k.release.Prepare(ctx, b.host, managerUser); err != nil {
		return err
	}
	for _, m := range b.members {
		config, err := b.box.RESTConfig(m.name)
		if err != nil {
			return err
		}
		if err := kubefed.Join(ctx, b.host, m, m.name, config); err != nil {
			return fmt.Errorf("joining %s: %w", m.name, err)
		}
	}
	if err := k.run(ctx, b); err != nil {
		return err
	}
	err = b.until(ctx, patience, func(ctx context.Context) (string, error) { return kubefed.NotReady(ctx, b.host) })
	if err != nil {
		return err
	}
	return b.quiet(ctx)
}

// run makes the sandbox's supervisor start the controller manager.
func (k kubefedFederation) run(ctx context.Context, b *bed) error {
	spec, err := b.box.Cluster(sandbox.HostName)
	if err != nil {
		return err
	}
	var addresses []string
	for _, key := range []string{"kubefed-health", "kubefed-metrics"} {
		port, err := b.box.Port(ctx, sandbox.HostName, key)
		if err != nil {
			return err
		}
		addresses = append(addresses, net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	if _, err := os.Stat(spec.ManagerKubeconfig()); err != nil {
		return err
	}
	err = b.box.AddProcess(ctx, supervisor.Process{
		Cluster: sandbox.HostName, Name: kubefed.Process, Path: k.release.Program,
		Args:  kubefed.Args(spec.ManagerKubeconfig(), addresses[0], addresses[1]),
		Unset: []string{"KUBECONFIG", "GOGC", "GOMEMLIMIT"}, After: []string{binaries.APIServer}, ReadyURL: "http://" + addresses[0] + "/healthz",
	})
	if err != nil {
		return err
	}
	return b.box.WaitReady(ctx, sandbox.HostName, kubefed.Process)
}

func (kubefedFederation) manager() string { return kubefed.Process }

func (kubefedFederation) runs(s supervisor.Status) bool { return s.Name == kubefed.Process }

func (kubefedFederation) sent(r audit.Request) bool {
	return r.User.Username == managerUser || r.User.Username == kubefed.AccountUser
}

// calm is longer than the pauses of a controller manager that has just started: it waits 20 s for clusters to become available, and 10 s
// between its health checks. In these pauses it uses no CPU, although it has not finished its work.
func (kubefedFederation) calm() time.Duration { return 35 * time.Second }

func (kubefedFederation) leader(ctx context.Context, b *bed) (string, error) {
	return kubefed.Leader(ctx, b.host)
}

// open federates the namespace, and waits until every member has it. Fairlead needs no such step: it creates a namespace with the first object.
func (kubefedFederation) open(ctx context.Context, b *bed, ns *corev1.Namespace) error {
	if err := b.host.Create(ctx, kubefed.Namespace(ns.Name)); client.IgnoreAlreadyExists(err) != nil {
		return err
	}
	return b.until(ctx, patience, func(ctx context.Context) (string, error) {
		for _, m := range b.members {
			if err := m.Get(ctx, client.ObjectKeyFromObject(ns), &corev1.Namespace{}); err != nil {
				return "namespace " + ns.Name + " is not on " + m.name + " yet", client.IgnoreNotFound(err)
			}
		}
		return "", nil
	})
}

func (kubefedFederation) wrap(namespace, name string) client.Object {
	return kubefed.ConfigMap(namespace, name, painted(name, 0))
}

func (kubefedFederation) paint(wrapper client.Object, colour int) {
	w, _ := wrapper.(*unstructured.Unstructured)
	kubefed.Retemplate(w, painted(w.GetName(), colour))
}

func (kubefedFederation) ready(ctx context.Context, b *bed) (map[client.ObjectKey]int64, error) {
	return kubefed.Propagated(ctx, b.host, len(b.members))
}
