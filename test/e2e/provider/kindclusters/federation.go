// SPDX-License-Identifier: Apache-2.0

package kindclusters

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodeutils"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// archiveOf returns the path of the archive that has the program's image for this machine's architecture.
func (v Version) archiveOf(program string) string {
	return filepath.Join(v.Images, program+"-linux-"+runtime.GOARCH+".tar")
}

// archives returns the paths of the archives with the images that the clusters run.
func (v Version) archives() []string {
	return []string{v.archiveOf("manager"), v.archiveOf("collector")}
}

// Load loads the images of another version of Fairlead into every node.
func (c *Clusters) Load(v Version, p *progress.Printer) error {
	return loadImages(c.kind, c.layout, "the images in "+v.Images, v.archives(), p)
}

// loadImages loads archives into every node. what says in the progress what they have.
func loadImages(kind *cluster.Provider, l layout, what string, archives []string, p *progress.Printer) error {
	step := p.Step("loading %s", what)
	var errs []error
	var mu sync.Mutex
	var wait sync.WaitGroup
	for _, name := range names() {
		wait.Go(func() {
			err := load(kind, l, name, archives)
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		step.Fail(err)
		return err
	}
	step.Donef("loaded %s into every node", what)
	return nil
}

// load loads archives into the nodes of one cluster.
func load(kind *cluster.Provider, l layout, name string, archives []string) error {
	nodes, err := kind.ListInternalNodes(l.kindName(name))
	if err != nil {
		return fmt.Errorf("listing the nodes of %s: %w", name, err)
	}
	for _, path := range archives {
		for _, node := range nodes {
			file, err := os.Open(path)
			if err != nil {
				return fmt.Errorf("opening an image: %w; hack/e2e.sh builds the images", err)
			}
			err = nodeutils.LoadImageArchive(node, file)
			if err := errors.Join(err, file.Close()); err != nil {
				return fmt.Errorf("loading %s into %s: %w", filepath.Base(path), node, err)
			}
		}
	}
	return nil
}

// imageOf returns the name of the image in an archive, as the archive's manifest.json has it.
func imageOf(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }() // it was only read
	for archive := tar.NewReader(file); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return "", fmt.Errorf("%s has no manifest.json", path)
		}
		if err != nil {
			return "", fmt.Errorf("reading %s: %w", path, err)
		}
		if header.Name != "manifest.json" {
			continue
		}
		var images []struct{ RepoTags []string }
		if err := json.NewDecoder(archive).Decode(&images); err != nil {
			return "", fmt.Errorf("reading the manifest of %s: %w", path, err)
		}
		if len(images) != 1 || len(images[0].RepoTags) != 1 {
			return "", fmt.Errorf("%s does not hold exactly one image with one name", path)
		}
		return images[0].RepoTags[0], nil
	}
}

// federate runs the hostctl commands that a user would run: hostctl init for the host, and hostctl join for each member.
func (c *Clusters) federate(ctx context.Context, p *progress.Printer) error {
	if err := c.Init(ctx, c.options.Fairlead, p); err != nil {
		return err
	}
	return c.Join(ctx, c.options.Fairlead, p)
}

// Init installs a version of the host part. Its images must have been loaded. flags are more flags of hostctl init.
func (c *Clusters) Init(ctx context.Context, v Version, p *progress.Printer, flags ...string) error {
	image, err := imageOf(v.archiveOf("manager"))
	if err != nil {
		return err
	}
	c.host = v
	return c.hostctl(ctx, v, p, provider.Host, append([]string{"init", "--context", provider.Host, "--image", image}, flags...)...)
}

// Join joins each member with a version of hostctl, and with that version's collector. Its images must have been loaded.
func (c *Clusters) Join(ctx context.Context, v Version, p *progress.Printer) error {
	var flags []string
	if v != c.host { // without this flag, the collector would have the version of the manager's image
		image, err := imageOf(v.archiveOf("collector"))
		if err != nil {
			return err
		}
		flags = []string{"--image", image}
	}
	for i, name := range c.MemberNames() {
		if err := c.hostctl(ctx, v, p, name, append(c.JoinArgs(i+1, name), flags...)...); err != nil {
			return err
		}
	}
	return nil
}

// closedMember is the member with the default grants and the namespace policy Managed. The others have the grant any and the policy All.
const closedMember = "member-1"

// JoinArgs returns the arguments with which hostctl joins member number i. The labels are those that the sandbox gives its
// member with the same number.
func (c *Clusters) JoinArgs(i int, name string) []string {
	place := sandbox.PlaceOf(i)
	args := []string{
		"join", name, "--cluster-context", name, "--server", c.layout.address(name), "--timeout", "3m", "--labels",
		fmt.Sprintf("cloud=%s,topology.kubernetes.io/region=%s,topology.kubernetes.io/zone=%s", place.Cloud, place.Region, place.Zones[0]),
	}
	if name != closedMember {
		args = append(args, "--allow", "any", "--namespaces", "All")
	}
	return args
}

// hostctl runs a command of a version's hostctl for one cluster, as a step of the progress. The current context is that of the host.
func (c *Clusters) hostctl(ctx context.Context, v Version, p *progress.Printer, name string, args ...string) error {
	step := p.Step("%s: hostctl %s", name, strings.Join(args, " "))
	env := slices.Concat(c.Environment(), []string{"KUBECONFIG=" + c.layout.kubeconfig("")})
	if _, err := runProgram(ctx, nil, env, filepath.Join(v.Programs, "hostctl"), args...); err != nil {
		step.Fail(err)
		return err
	}
	step.Donef("%s: hostctl %s", name, strings.Join(args, " "))
	return nil
}
