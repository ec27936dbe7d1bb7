// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
)

// Publication is the result of a call of Publish.
type Publication string

const (
	// Published means that the catalog did not have the version before.
	Published Publication = "Published"
	// AlreadyPublished means that the catalog had the version before, so nothing has changed.
	AlreadyPublished Publication = "AlreadyPublished"
)

// RefusedError is the error for a version that cannot be published: it does not exist, or the version before it is not published yet.
type RefusedError struct {
	Version   string
	Published []string // the versions in the catalog, the oldest first
	Next      string   // the version to publish next; "" if all are published
}

// Error names the version, the published versions and the next one.
func (r *RefusedError) Error() string {
	reason := fmt.Sprintf("there is no version %q of %s", r.Version, demooperator.Name)
	if slices.Contains(demooperator.Versions(), r.Version) {
		reason = fmt.Sprintf("version %s of %s replaces a version that is not published yet", r.Version, demooperator.Name)
	}
	next := "all versions are published"
	if r.Next != "" {
		next = r.Next + " is the next one to publish"
	}
	return fmt.Sprintf("%s: the catalog has %s; %s", reason, strings.Join(r.Published, ", "), next)
}

// servedWithin bounds the time until catalogserver serves a changed catalog.
const servedWithin = 30 * time.Second

// Publish adds the next version of the demo operator to a cluster's catalog. It waits until the server serves the new catalog, and OLM has connected to the
// server again. OLM then upgrades the operators whose Subscriptions have installPlanApproval: Automatic.
//
// Two calls at the same time do no harm: each replaces the whole file, and waits for its own version.
func Publish(ctx context.Context, c Cluster, version string) (Publication, error) {
	did, err := publish(ctx, c, version)
	if err != nil {
		return "", fmt.Errorf("publishing %s on %s: %w", version, c.Name, err)
	}
	return did, nil
}

func publish(ctx context.Context, c Cluster, version string) (Publication, error) {
	published, err := c.published()
	if err != nil {
		return "", err
	}
	did, err := judge(published, version)
	if err != nil {
		return "", err
	}
	var since time.Time
	if did == Published {
		since = time.Now()
		if err := c.writeCatalog(append(published, version)); err != nil {
			return "", err
		}
	}
	if err := c.waitListed(ctx, version); err != nil {
		return "", err
	}
	api, err := newClient(c.REST)
	if err != nil {
		return "", err
	}
	return did, c.waitConnected(ctx, api, since)
}

// judge returns the result of publishing a version in a catalog that has the versions in the argument published. It returns a
// *RefusedError if the version cannot be published.
func judge(published []string, version string) (Publication, error) {
	if slices.Contains(published, version) {
		return AlreadyPublished, nil
	}
	next := ""
	if all := demooperator.Versions(); len(published) < len(all) {
		next = all[len(published)]
	}
	if next == "" || version != next {
		return "", &RefusedError{Version: version, Published: published, Next: next}
	}
	return Published, nil
}

// published returns the versions in the cluster's catalog.
func (c Cluster) published() ([]string, error) {
	content, err := os.ReadFile(c.catalogFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("it has no catalog, because the sandbox was started without --olm: `hostctl sandbox up --olm` adds it")
	}
	if err != nil {
		return nil, fmt.Errorf("reading the catalog: %w", err)
	}
	versions, err := publishedIn(content)
	if err != nil {
		return nil, fmt.Errorf("reading the catalog %s: %w", c.catalogFile(), err)
	}
	return versions, nil
}

// waitListed waits until the catalog's server lists a version. It asks the server as OLM does.
func (c Cluster) waitListed(ctx context.Context, version string) error {
	address, err := c.address()
	if err != nil {
		return err
	}
	return c.waitListedAt(ctx, address, csvName(version))
}

// waitListedAt waits until the server at address lists a bundle.
func (c Cluster) waitListedAt(ctx context.Context, address, bundle string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, lookAgain, servedWithin, true, func(ctx context.Context) (bool, error) {
		listed, err := c.listed(ctx, address)
		last = err
		return slices.Contains(listed, bundle), nil
	})
	if err != nil {
		return fmt.Errorf("waiting until the catalog's server on %s lists %s (is the cluster running?): %w",
			address, bundle, errors.Join(err, last))
	}
	return nil
}

// listed asks the server at address for its versions.
func (c Cluster) listed(ctx context.Context, address string) ([]string, error) {
	command := exec.CommandContext(ctx, filepath.Join(c.Binaries, "catalogserver"), "--check="+address)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return strings.Fields(string(out)), nil
}
