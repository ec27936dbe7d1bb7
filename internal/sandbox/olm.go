// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"fmt"

	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
	"github.com/fairlead-dev/fairlead/internal/sandbox/cluster"
	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

// OLMCluster returns what package olm needs to know about one of the sandbox's clusters.
func (s *Sandbox) OLMCluster(name string) (olm.Cluster, error) {
	c, err := s.Cluster(name)
	if err != nil {
		return olm.Cluster{}, err
	}
	config, err := c.REST()
	if err != nil {
		return olm.Cluster{}, err
	}
	return olm.Cluster{
		Name: name, Dir: c.Dir, REST: config, Kubeconfig: c.Kubeconfig(), Binaries: c.Binaries,
		FreePort: func(key string) (int, error) { return s.Port(context.Background(), name, key) },
		AddProcess: func(ctx context.Context, p olm.Command) error {
			return s.AddProcess(ctx, supervisor.Process{Cluster: name, Name: p.Name, Path: p.Path, Args: p.Args,
				Env: p.Env, Unset: p.Unset, After: []string{binaries.APIServer}})
		},
	}, nil
}

func (s *Sandbox) installOLM(ctx context.Context, c cluster.Spec, p *progress.Printer) error {
	step := p.Step("%s: installing OLM", c.Name)
	target, err := s.OLMCluster(c.Name)
	if err == nil {
		err = olm.Install(ctx, target)
	}
	if err != nil {
		step.Fail(err)
		return fmt.Errorf("bringing up %s: %w", c.Name, err)
	}
	step.Donef("%s: OLM and its catalog are ready", c.Name)
	return nil
}
