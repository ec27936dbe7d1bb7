// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// versionOf finds the version to read a resource in: the mapper's, where one was given and is to be
// trusted, else what the member says itself.
func (c *Collector) versionOf(ctx context.Context, gr schema.GroupResource, trustMapper bool) (schema.GroupVersionResource, error) {
	if c.mapper != nil && trustMapper {
		if gvr, err := c.mapper.ResourceFor(gr.WithVersion("")); err == nil && gvr.GroupResource() == gr {
			return gvr, nil
		}
	}
	gvr, err := c.discover(ctx, gr.Group, func(r metav1.APIResource) bool { return r.Name == gr.Resource })
	if err != nil {
		return schema.GroupVersionResource{}, fmt.Errorf("finding the version of %s: %w", gr, err)
	}
	return gvr, nil
}

// servesKind says whether the member serves a kind now.
func (c *Collector) servesKind(ctx context.Context, gk schema.GroupKind) (bool, error) {
	_, err := c.discover(ctx, gk.Group, func(r metav1.APIResource) bool {
		return r.Kind == gk.Kind && !strings.Contains(r.Name, "/")
	})
	switch {
	case err == nil:
		return true, nil
	case isNotServed(err):
		return false, nil
	}
	return false, fmt.Errorf("asking whether %s is served: %w", gk, err)
}

// discover looks for a resource in one group, in the preferred version first. It asks for that group
// alone: a member may serve hundreds.
func (c *Collector) discover(ctx context.Context, group string, wanted func(metav1.APIResource) bool) (schema.GroupVersionResource, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	versions := []string{"v1"} // of the core group, which has no document of its own
	if group != "" {
		var served metav1.APIGroup
		err := c.clients.discovery.RESTClient().Get().AbsPath("/apis", group).Do(ctx).Into(&served)
		if apierrors.IsNotFound(err) {
			return schema.GroupVersionResource{}, errNotServed
		}
		if err != nil {
			return schema.GroupVersionResource{}, err
		}
		versions = versions[:0]
		if served.PreferredVersion.Version != "" {
			versions = append(versions, served.PreferredVersion.Version)
		}
		for _, v := range served.Versions {
			if v.Version != served.PreferredVersion.Version {
				versions = append(versions, v.Version)
			}
		}
	}
	for _, version := range versions {
		path := []string{"/apis", group, version}
		if group == "" {
			path = []string{"/api", version}
		}
		var list metav1.APIResourceList
		err := c.clients.discovery.RESTClient().Get().AbsPath(path...).Do(ctx).Into(&list)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return schema.GroupVersionResource{}, err
		}
		for _, r := range list.APIResources {
			if wanted(r) {
				return schema.GroupVersionResource{Group: group, Version: version, Resource: r.Name}, nil
			}
		}
	}
	return schema.GroupVersionResource{}, errNotServed
}
