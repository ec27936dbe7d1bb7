// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// joiner is one join: the two clusters, the recorder of its steps, and the user's options. It keeps no results: each step
// returns what it found or wrote, and later steps take that as an argument.
type joiner struct {
	cluster.Pair
	opts Options
	now  func() time.Time
}

// Join makes a cluster a member of a host, or completes and corrects an earlier join. The arguments host and member are the
// connections to the two clusters. Join calls report for each step; report may be nil. If Join has written everything but
// the member does not become Ready in time, it returns the Result together with a *NotReadyError.
func Join(ctx context.Context, host, member *rest.Config, opts Options, report steps.Reporter) (*Result, error) {
	j, err := newJoiner(host, member, opts, report)
	if err != nil {
		return nil, err
	}
	p, w, err := j.join(ctx)
	if err != nil {
		return nil, fmt.Errorf("joining %s: %w", opts.Name, err)
	}
	return j.result(p, w), j.awaitReady(ctx, p, w.registered)
}

func newJoiner(host, member *rest.Config, opts Options, report steps.Reporter) (*joiner, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	j := &joiner{opts: opts, now: time.Now}
	j.Steps = steps.NewRecorder(report)
	var err error
	if j.Host, err = cluster.Connect(host, "the host", opts.DryRun); err != nil {
		return nil, err
	}
	j.Member, err = cluster.Connect(member, "member "+opts.Name, opts.DryRun)
	return j, err
}

// join runs all steps up to the last write and its check.
func (j *joiner) join(ctx context.Context) (plan, written, error) {
	f, err := j.discover(ctx)
	if err != nil {
		return plan{}, written{}, err
	}
	p, err := j.decide(ctx, f)
	if err != nil {
		return plan{}, written{}, err
	}
	if err := p.askHost(ctx, j.Host); err != nil {
		return plan{}, written{}, err
	}
	if p, err = j.takeOver(ctx, p); err != nil {
		return plan{}, written{}, err
	}
	if err := j.rotate(ctx, p); err != nil {
		return plan{}, written{}, err
	}
	w, err := p.write(ctx, j.Pair, j.now)
	if err != nil {
		return plan{}, written{}, err
	}
	return p, w, p.confirm(ctx, j.Pair, w)
}

func (j *joiner) result(p plan, w written) *Result {
	return &Result{
		Name: p.name, Host: p.found.identity, UID: p.found.memberUID, KubernetesVersion: p.found.version,
		Endpoint: p.found.address.endpoint, Grants: p.grants, Namespaces: p.namespaces, Collector: p.collector.Mode, CollectorImage: p.collector.Settings.Image,
		OwnMember: p.found.isOwnMember(), TokenExpires: w.tokenExpires, Changes: j.Steps.Changes(),
	}
}
