// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/discovery"
)

const (
	// maxKnown is the largest number of resources of one member in the cache: 8,192 resources take about 2 MiB. If the
	// cache has more after a new answer, the mapper drops everything but that answer. It asks the member again when it
	// needs another kind.
	maxKnown = 8192
	// mapWithin is the time limit of all discovery requests for one mapping together.
	mapWithin = 30 * time.Second
)

// mapper maps the kinds of one member to resources. It knows the mappings of built-in kinds without a request. For any
// other kind it asks the member, one version of a group at a time, and caches the answer. The answers of one member have
// no effect on other members.
//
// The mapper never caches that a kind is missing, because a user may create its CRD at any moment.
type mapper struct {
	rest rest.Interface
	// asking has one slot, so that only one caller at a time sends discovery requests to the member. The others wait
	// for the slot.
	asking chan struct{}

	mu       sync.Mutex
	versions map[string][]string
	known    map[schema.GroupVersion][]discovery.Resource
	count    int // the number of resources in known
	// doubted are the built-in kinds that the member did not serve at their usual path. For these kinds the mapper asks
	// the member, as for kinds that are not built in.
	doubted map[schema.GroupKind]bool
}

func newMapper(client rest.Interface) *mapper {
	m := &mapper{rest: client, asking: make(chan struct{}, 1), doubted: map[schema.GroupKind]bool{}}
	m.forget()
	return m
}

// forget drops the cache. A discovery request that is under way may still add an outdated resource afterwards. If the
// member answers 404 at the path of that resource, the caller calls doubt, and the mapper asks the member again.
func (m *mapper) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.versions, m.known, m.count = map[string][]string{}, map[schema.GroupVersion][]discovery.Resource{}, 0
}

// doubt makes the next mapping of a kind ask the member. If the kind is built in, all its later mappings also come from
// the member's answers, and not from the list of built-in kinds.
func (m *mapper) doubt(gk schema.GroupKind) {
	m.forget()
	if builtIn.mapping(gk, "") == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubted[gk] = true
}

// byItself returns the mapping of a built-in kind without a request. It returns nil if the mapper has to ask the member.
// The mapper has to ask if the kind is not built in, if it is doubted, or if the first of versions is not the built-in
// version.
func (m *mapper) byItself(gk schema.GroupKind, versions []string) *meta.RESTMapping {
	found := builtIn.mapping(gk, "")
	if found == nil || len(versions) > 0 && versions[0] != found.Resource.Version {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.doubted[gk] {
		return nil
	}
	return found
}

// mapping implements Conn.Mapping.
func (m *mapper) mapping(ctx context.Context, gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	if found := m.byItself(gk, versions); found != nil {
		return found, nil
	}
	gv, r, err := m.find(ctx, gk.Group, versions, func(r discovery.Resource) bool { return r.Kind == gk.Kind })
	if err != nil {
		return nil, err
	}
	if r == nil {
		return nil, &meta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	if found := builtIn.mapping(gk, gv.Version); found != nil {
		return found, nil // the name and scope of a built-in kind come from Kubernetes, whatever the member answers
	}
	if err := r.Usable(); err != nil {
		return nil, err
	}
	scope := meta.RESTScopeRoot
	if r.Namespaced {
		scope = meta.RESTScopeNamespace
	}
	return &meta.RESTMapping{Resource: gv.WithResource(r.Name), GroupVersionKind: gv.WithKind(gk.Kind), Scope: scope}, nil
}

// resource returns the version in which the member serves a resource, and the resource's kind.
func (m *mapper) resource(ctx context.Context, gr schema.GroupResource, versions ...string) (schema.GroupVersion, string, error) {
	if gk, ok := builtIn.byResource[gr]; ok {
		found, err := m.mapping(ctx, gk, versions...)
		if err != nil {
			return schema.GroupVersion{}, "", err
		}
		return found.GroupVersionKind.GroupVersion(), gk.Kind, nil
	}
	gv, r, err := m.find(ctx, gr.Group, versions, func(r discovery.Resource) bool { return r.Name == gr.Resource && r.Name != "" })
	if err != nil {
		return schema.GroupVersion{}, "", err
	}
	if r == nil {
		return schema.GroupVersion{}, "", &meta.NoResourceMatchError{PartialResource: gr.WithVersion("")}
	}
	return gv, r.Kind, nil
}

// find returns the first resource of a group for which is(resource) is true. It searches the given versions,
// first in the cache and then at the member. Without versions it searches all versions. The result is nil if no
// resource is found.
func (m *mapper) find(ctx context.Context, group string, versions []string, is func(discovery.Resource) bool,
) (schema.GroupVersion, *discovery.Resource, error) {
	if gv, r := m.remembered(group, versions, is); r != nil {
		return gv, r, nil
	}
	ctx, cancel := context.WithTimeout(ctx, mapWithin)
	defer cancel()
	select {
	case m.asking <- struct{}{}:
		defer func() { <-m.asking }()
	case <-ctx.Done():
		return schema.GroupVersion{}, nil, context.Cause(ctx)
	}
	if gv, r := m.remembered(group, versions, is); r != nil { // another caller has filled the cache while this one waited
		return gv, r, nil
	}
	return m.ask(ctx, group, versions, is)
}

func (m *mapper) remembered(group string, versions []string, is func(discovery.Resource) bool) (schema.GroupVersion, *discovery.Resource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(versions) == 0 {
		versions = m.versions[group]
	}
	for _, version := range versions {
		gv := schema.GroupVersion{Group: group, Version: version}
		if i := slices.IndexFunc(m.known[gv], is); i >= 0 {
			return gv, &m.known[gv][i]
		}
	}
	return schema.GroupVersion{}, nil
}

func (m *mapper) ask(ctx context.Context, group string, versions []string, is func(discovery.Resource) bool,
) (schema.GroupVersion, *discovery.Resource, error) {
	none := schema.GroupVersion{}
	if len(versions) == 0 {
		var err error
		if versions, err = discovery.Versions(ctx, m.rest, group); apierrors.IsNotFound(err) {
			return none, nil, nil
		} else if err != nil {
			return none, nil, err
		}
		m.mu.Lock()
		m.versions[group] = versions
		m.mu.Unlock()
	}
	for _, version := range versions {
		gv := schema.GroupVersion{Group: group, Version: version}
		resources, err := discovery.Resources(ctx, m.rest, gv)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return none, nil, fmt.Errorf("reading the kinds of %s: %w", gv, err)
		}
		m.remember(gv, resources)
		if i := slices.IndexFunc(resources, is); i >= 0 {
			return gv, &resources[i], nil
		}
	}
	return none, nil, nil
}

func (m *mapper) remember(gv schema.GroupVersion, resources []discovery.Resource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count += len(resources) - len(m.known[gv])
	if m.count > maxKnown {
		m.versions, m.known, m.count = map[string][]string{}, map[schema.GroupVersion][]discovery.Resource{}, len(resources)
	}
	m.known[gv] = resources
}
