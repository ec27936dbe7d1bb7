// SPDX-License-Identifier: Apache-2.0

package memberclient

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/internal/collect/boundedwatch"
	"github.com/fairlead-dev/fairlead/internal/discovery"
)

// VersionOf finds the version in which to read a resource. It asks the mapper if there is one and trustMapper is true.
// If that gives no answer, it asks the member. The error is boundedwatch.ErrNotServed if the member does not serve the
// resource.
func (c *Client) VersionOf(ctx context.Context, gr schema.GroupResource, trustMapper bool) (schema.GroupVersionResource, error) {
	if c.mapper != nil && trustMapper {
		if gvr, err := c.mapper.ResourceFor(gr.WithVersion("")); err == nil && gvr.GroupResource() == gr {
			return gvr, nil
		}
	}
	gvr, err := c.discover(ctx, gr.Group, func(r discovery.Resource) bool { return r.Name != "" && r.Name == gr.Resource })
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("finding the version of %s: %w", gr, err)
	}
	return gvr, nil
}

// ServesKind reports whether the member serves a kind now.
func (c *Client) ServesKind(ctx context.Context, gk schema.GroupKind) (bool, error) {
	_, err := c.discover(ctx, gk.Group, func(r discovery.Resource) bool { return r.Kind == gk.Kind })
	switch {
	case err == nil:
		return true, nil
	case boundedwatch.IsNotServed(err):
		return false, nil
	}
	return false, fmt.Errorf("asking whether %s is served: %w", gk, err)
}

// discover finds a resource in one group, in the preferred version first. It reads the discovery of that group only,
// because a member may serve hundreds of groups.
func (c *Client) discover(ctx context.Context, group string, wanted func(discovery.Resource) bool) (schema.GroupVersionResource, error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTimeout)
	defer cancel()
	versions, err := discovery.Versions(ctx, c.Discovery, group)
	if apierrors.IsNotFound(err) {
		return schema.GroupVersionResource{}, boundedwatch.ErrNotServed
	}
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	for _, version := range versions {
		gv := schema.GroupVersion{Group: group, Version: version}
		resources, err := discovery.Resources(ctx, c.Discovery, gv)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return schema.GroupVersionResource{}, err
		}
		if i := slices.IndexFunc(resources, wanted); i >= 0 {
			return gv.WithResource(resources[i].Name), resources[i].Usable()
		}
	}
	return schema.GroupVersionResource{}, boundedwatch.ErrNotServed
}
