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

// VersionOf finds the version in which to read a resource. If the client has a RESTMapper and trustMapper is true, it
// asks the RESTMapper first. If the RESTMapper has no answer, it reads the member's discovery. If the member does not
// serve the resource, the error wraps boundedwatch.ErrNotServed.
func (c *Client) VersionOf(ctx context.Context, gr schema.GroupResource, trustMapper bool) (schema.GroupVersionResource, error) {
	if c.mapper != nil && trustMapper {
		if gvr, err := c.mapper.ResourceFor(gr.WithVersion("")); err == nil && gvr.GroupResource() == gr {
			return gvr, nil
		}
	}
	gvr, err := c.discover(ctx, gr.Group, func(r discovery.Resource) bool { return r.Name != "" && r.Name == gr.Resource })
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("finding the version in which the member serves %s: %w", gr, err)
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
	return false, fmt.Errorf("finding out whether the member serves %s: %w", gk, err)
}

// discover finds a resource of one API group, in the version that the member prefers, or else in another version. It
// reads the discovery of this group only, because a member can serve hundreds of groups.
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
