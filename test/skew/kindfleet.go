// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
	"github.com/fairlead-dev/fairlead/test/e2e/provider/kindclusters"
)

// kindFleet is clusters of kind, in which managers and collectors are pods. A stage changes the host by `hostctl init`, and the members by
// `hostctl join`, so the version of hostctl is that of the manager for the one, and that of the collectors for the other.
type kindFleet struct {
	options  kindclusters.Options
	versions map[version]kindclusters.Version
	clusters *kindclusters.Clusters // nil before the first stage
	at       stage                  // what runs
}

func newKindFleet(name string, from folders) (*kindFleet, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	f := &kindFleet{versions: make(map[version]kindclusters.Version)}
	for of, programs := range from {
		images := filepath.Join(filepath.Dir(programs), "_artifacts", "images")
		f.versions[of] = kindclusters.Version{Programs: programs, Images: images}
	}
	f.options = kindclusters.Options{
		Name: "fairlead-" + name, Dir: filepath.Join(cache, "fairlead", "kind-"+name), Fairlead: f.versions[oldVersion],
		NodeImage: os.Getenv("KIND_NODE_IMAGE"), OtherNodeImage: os.Getenv("KIND_OTHER_NODE_IMAGE"),
	}
	return f, nil
}

// start implements installation.
func (f *kindFleet) start(ctx context.Context, s stage, p *progress.Printer) (err error) {
	if f.clusters == nil {
		if f.clusters, err = kindclusters.Up(ctx, f.options, p); err != nil {
			return err
		}
		f.at = s
		return f.clusters.Load(f.versions[newVersion], p)
	}
	if s.manager != f.at.manager {
		if err := f.clusters.Init(ctx, f.versions[s.manager], p, "--allow-downgrade"); err != nil {
			return err
		}
	}
	if s.collector != f.at.collector {
		if err := f.clusters.Join(ctx, f.versions[s.collector], p); err != nil {
			return err
		}
	}
	f.at = s
	return nil
}

// members implements installation.
func (f *kindFleet) members() []string { return f.clusters.MemberNames() }

// config implements installation.
func (f *kindFleet) config(name string) (*rest.Config, error) { return f.clusters.RESTConfig(name) }

// provider implements installation.
func (f *kindFleet) provider() (provider.Provider, error) {
	if f.clusters == nil {
		return nil, errors.New("kind has made no clusters")
	}
	return f.clusters, nil
}

// down implements installation.
func (f *kindFleet) down(ctx context.Context, keep bool, p *progress.Printer) error {
	switch {
	case f.clusters == nil:
		return nil
	case keep:
		p.Note("the clusters %s-* of kind still run; their kubeconfig is %s", f.options.Name, filepath.Join(f.options.Dir, "kubeconfig"))
		return nil
	}
	return f.clusters.Down(ctx)
}

var _, _ installation = (*processFleet)(nil), (*kindFleet)(nil)
