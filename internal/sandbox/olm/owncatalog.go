// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"context"
	"fmt"
	"path/filepath"
)

// ServeOwn serves a further catalog of the demo operator on a cluster, and returns its address for a CatalogSource. The catalog has these bundles, and
// each replaces the one before it in its channel. A bundle may have a version for which no program exists. Subscriptions to the
// sandbox's catalog do not see these bundles.
//
// The supervisor runs the server as a process with the returned name, until the caller removes that process. Another call with the same
// name and other bundles replaces the catalog; OLM reads it at its next connection to the server.
func ServeOwn(ctx context.Context, c Cluster, name string, bundles ...Bundle) (process, address string, err error) {
	process = portKey + "-" + name
	if address, err = c.addressOf(process); err != nil {
		return "", "", err
	}
	home := filepath.Join(c.home(), "own", name)
	if err := writeCatalog(bundles, filepath.Join(home, catalogFolder, catalogName), home); err != nil {
		return "", "", fmt.Errorf("serving catalog %s on %s: %w", name, c.Name, err)
	}
	if err := c.AddProcess(ctx, c.catalogServer(process, address, home)); err != nil {
		return "", "", fmt.Errorf("starting %s on %s: %w", process, c.Name, err)
	}
	for _, bundle := range bundles {
		if err := c.waitListedAt(ctx, address, bundle.csvName(bundle.Version)); err != nil {
			return "", "", fmt.Errorf("serving catalog %s on %s: %w", name, c.Name, err)
		}
	}
	return process, address, nil
}
