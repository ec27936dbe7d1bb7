// SPDX-License-Identifier: Apache-2.0

package discovery

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
)

// Limits on a member's discovery documents. Real clusters with a thousand CRDs stay far below them.
const (
	// MaxGroups is the largest number of API groups that a member may serve.
	MaxGroups = 1000
	// MaxVersions is the largest number of versions that one API group may have.
	MaxVersions = 32
	// MaxResources is the largest number of resources that one version of a group may have, without subresources.
	MaxResources = 4096
	// maxListable is the largest number of kinds with the verb list that a member may serve in all groups together.
	maxListable = 16384
	// Timeout is how long one discovery request may take.
	Timeout = 15 * time.Second
	// listableWithin is how long all requests of one call of Listable may take together.
	listableWithin = 2 * time.Minute
)

// InvalidError is the error for a discovery document that no real API server sends, because it is too large or has an
// invalid name.
type InvalidError struct {
	// The field What names the requested document. It contains no unchecked text of the member.
	What string
	// The field Why describes the fault of the document. It contains no unchecked text of the member.
	Why string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("Fairlead cannot use the member's %s: %s. Check that spec.endpoint leads to a Kubernetes API server, and which APIService serves this API group", e.What, e.Why)
}

// Resource is a kind as a member serves it in one version.
type Resource struct {
	Kind string
	// Name is the plural name in URL paths, for example "deployments". It is "" if the member gave a name that is no DNS
	// label. Fairlead then cannot send requests about this kind.
	Name string
	// Namespaced is false for a cluster-scoped resource.
	Namespaced bool
	// Listable is true if the resource has the verb list.
	Listable bool
}

// Usable returns an *InvalidError if the resource has no name for URL paths.
func (r Resource) Usable() error {
	if r.Name != "" {
		return nil
	}
	return &InvalidError{What: "kind " + r.Kind, Why: "the name of its resource is no DNS label"}
}

// Versions returns the versions of a group, the preferred one first. If the member does not serve the group, the error
// satisfies apierrors.IsNotFound. If the member's discovery document exceeds a limit or is invalid, the error is an
// *InvalidError.
func Versions(ctx context.Context, c rest.Interface, group string) ([]string, error) {
	if group == "" { // the core group has no document of its own
		return []string{"v1"}, nil
	}
	served := metav1.APIGroup{}
	if err := read(ctx, c, &served, "/apis", group); err != nil {
		return nil, err
	}
	return versionsOf(group, served)
}

func versionsOf(group string, served metav1.APIGroup) ([]string, error) {
	what := "group " + group
	if len(served.Versions) > MaxVersions {
		return nil, &InvalidError{What: what, Why: fmt.Sprintf("it has %d versions, and Fairlead reads at most %d", len(served.Versions), MaxVersions)}
	}
	var versions []string
	if preferred := served.PreferredVersion.Version; preferred != "" {
		versions = append(versions, preferred)
	}
	for _, v := range served.Versions {
		if !slices.Contains(versions, v.Version) {
			versions = append(versions, v.Version)
		}
	}
	for _, v := range versions {
		if !isLabel(v) {
			return nil, &InvalidError{What: what, Why: "the name of a version is no DNS label"}
		}
	}
	return versions, nil
}

// Resources returns the resources of one version of a group. The error satisfies apierrors.IsNotFound if the member
// does not serve the version, and is an *InvalidError if the member's discovery document exceeds a limit.
func Resources(ctx context.Context, c rest.Interface, gv schema.GroupVersion) ([]Resource, error) {
	path := []string{"/apis", gv.Group, gv.Version}
	if gv.Group == "" {
		path = []string{"/api", gv.Version}
	}
	list := metav1.APIResourceList{}
	if err := read(ctx, c, &list, path...); err != nil {
		return nil, err
	}
	var resources []Resource
	for i := range list.APIResources {
		r := &list.APIResources[i]
		if strings.Contains(r.Name, "/") || !isLabel(strings.ToLower(r.Kind)) {
			continue // a subresource, or an entry whose kind is no valid name
		}
		if len(resources) == MaxResources { // subresources do not count: a metrics adapter has one for each metric
			return nil, &InvalidError{What: "version " + gv.String(), Why: fmt.Sprintf("it has more than %d resources", MaxResources)}
		}
		resource := Resource{Kind: r.Kind, Namespaced: r.Namespaced, Listable: slices.Contains(r.Verbs, "list")}
		if isLabel(r.Name) {
			resource.Name = r.Name
		}
		resources = append(resources, resource)
	}
	return slices.Clip(resources), nil
}

// Serves reports whether the member serves a kind in any version. If it returns an error, the other result means
// nothing: a version whose discovery document could not be read may have the kind.
func Serves(ctx context.Context, c rest.Interface, gk schema.GroupKind) (bool, error) {
	versions, err := Versions(ctx, c, gk.Group)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, version := range versions {
		gv := schema.GroupVersion{Group: gk.Group, Version: version}
		resources, err := Resources(ctx, c, gv)
		if err != nil {
			return false, fmt.Errorf("reading the kinds of %s: %w", gv, err)
		}
		if slices.ContainsFunc(resources, func(r Resource) bool { return r.Kind == gk.Kind }) {
			return true, nil
		}
	}
	return false, nil
}

// Collection is a kind that can be listed, with the resource and the version for the request.
type Collection struct {
	schema.GroupVersionResource
	Kind string
}

// Listable returns all kinds that can be listed, each in one version: the namespaced kinds if namespaced is true, else
// the cluster-scoped kinds. If some groups do not answer, it returns the kinds of the other groups together with an
// error.
func Listable(ctx context.Context, c rest.Interface, namespaced bool) ([]Collection, error) {
	ctx, cancel := context.WithTimeout(ctx, listableWithin)
	defer cancel()
	groups := metav1.APIGroupList{}
	if err := read(ctx, c, &groups, "/apis"); err != nil {
		return nil, err
	}
	if len(groups.Groups) > MaxGroups {
		return nil, &InvalidError{What: "list of API groups", Why: fmt.Sprintf("it has %d groups, and Fairlead reads at most %d", len(groups.Groups), MaxGroups)}
	}
	all, err := listable(ctx, c, "", []string{"v1"}, namespaced)
	if err != nil {
		return nil, err
	}
	var unanswered error // the error of the first group that did not answer
	for _, group := range groups.Groups {
		if len(validation.IsDNS1123Subdomain(group.Name)) > 0 {
			return nil, &InvalidError{What: "list of API groups", Why: "the name of one group is no DNS name"}
		}
		versions, err := versionsOf(group.Name, group)
		if err != nil {
			return nil, err
		}
		found, err := listable(ctx, c, group.Name, versions, namespaced)
		if isUnusable(err) || ctx.Err() != nil {
			return nil, cmp.Or(err, ctx.Err())
		}
		if err != nil && unanswered == nil {
			unanswered = err
		}
		if all = append(all, found...); len(all) > maxListable {
			return nil, &InvalidError{What: "list of kinds", Why: fmt.Sprintf("it has more than %d kinds", maxListable)}
		}
	}
	return all, unanswered
}

func isUnusable(err error) bool {
	var invalid *InvalidError
	return errors.As(err, &invalid)
}

func listable(ctx context.Context, c rest.Interface, group string, versions []string, namespaced bool) ([]Collection, error) {
	var found []Collection
	seen := map[string]bool{}
	for _, version := range versions {
		gv := schema.GroupVersion{Group: group, Version: version}
		resources, err := Resources(ctx, c, gv)
		if err != nil {
			return nil, fmt.Errorf("reading the kinds of %s: %w", gv, err)
		}
		for _, r := range resources {
			if r.Namespaced != namespaced || !r.Listable || seen[r.Name] {
				continue
			}
			if err := r.Usable(); err != nil {
				return nil, err
			}
			seen[r.Name] = true
			found = append(found, Collection{gv.WithResource(r.Name), r.Kind})
		}
	}
	return found, nil
}

func read(ctx context.Context, c rest.Interface, into runtime.Object, path ...string) error {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	return c.Get().AbsPath(path...).SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx).Into(into)
}

func isLabel(s string) bool { return len(validation.IsDNS1123Label(s)) == 0 }
