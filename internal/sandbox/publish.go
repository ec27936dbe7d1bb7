// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

// Publish adds a version of the demo operator to the catalogs of all members, at the same time. An error on one member does not stop
// the others. If a catalog has the version already, Publish prints a line about that.
func (s *Sandbox) Publish(ctx context.Context, version string, p *progress.Printer) error {
	members := s.Members()
	if !s.Options().OLM || len(members) == 0 {
		return fmt.Errorf("publishing %s: sandbox %s has no member with OLM; `hostctl sandbox up --name %s --olm` installs it",
			version, s.Name, s.Name)
	}
	status := map[string]string{}
	for _, c := range s.Summary(ctx).Clusters {
		status[c.Name] = c.Status
	}
	errs := make([]error, len(members))
	var wait sync.WaitGroup
	for i, name := range members {
		wait.Go(func() { errs[i] = s.publishOn(ctx, name, status[name], version, p) })
	}
	wait.Wait()
	return foldRefusals(version, members, errs)
}

func (s *Sandbox) publishOn(ctx context.Context, name, status, version string, p *progress.Printer) error {
	switch status {
	case StatusStopped:
		return fmt.Errorf("publishing %s on %s: the cluster is stopped; `hostctl sandbox start %s --name %s` starts it", version, name, name, s.Name)
	case StatusDown:
		return fmt.Errorf("publishing %s on %s: the sandbox is down; `hostctl sandbox up --name %s` starts it", version, name, s.Name)
	}
	step := p.Step("%s: publishing %s", name, version)
	target, err := s.OLMCluster(name)
	if err != nil {
		step.Skip()
		return fmt.Errorf("publishing %s on %s: %w", version, name, err)
	}
	did, err := olm.Publish(ctx, target, version)
	switch {
	case err != nil:
		step.Skip()
		return err
	case did == olm.AlreadyPublished:
		step.Donef("%s: %s was in the catalog already", name, version)
	default:
		step.Donef("%s: %s is in the catalog", name, version)
	}
	return nil
}

// foldRefusals joins the errors of the members. Members whose catalogs refuse the version for the same reason get one line together.
func foldRefusals(version string, members []string, errs []error) error {
	refused := map[string][]string{} // members by the text of the refusal
	for i, err := range errs {
		if refusal := (*olm.RefusedError)(nil); errors.As(err, &refusal) {
			refused[refusal.Error()] = append(refused[refusal.Error()], members[i])
		}
	}
	var said []string
	var all []error
	for _, err := range errs {
		refusal := (*olm.RefusedError)(nil)
		switch {
		case !errors.As(err, &refusal):
			all = append(all, err)
		case !slices.Contains(said, refusal.Error()):
			said = append(said, refusal.Error())
			all = append(all, fmt.Errorf("publishing %s on %s: %w", version, strings.Join(refused[refusal.Error()], ", "), refusal))
		}
	}
	return errors.Join(all...)
}
