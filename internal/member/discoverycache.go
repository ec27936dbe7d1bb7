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

	"github.com/fairlead-dev/fairlead/internal/discovery"
)

const (
	// maxKnown bounds the number of cached resources of one member: they take about 2 MiB. Past that, the mapper drops
	// the whole cache, and asks the member again when it needs a kind.
	maxKnown = 8192
	// mapWithin bounds the time to ask a member how it serves a kind, over all versions.
	mapWithin = 30 * time.Second
)

// mapper maps the kinds of one member to resources. Built-in kinds are compiled in. For all others it asks the member,
// one version of a group at a time, and caches the answer. An answer of one member never affects another member.
//
// The mapper never caches that a kind is missing, because its CRD may appear at any moment.
type mapper struct {
	conn *Conn
	// asking holds one token while a caller asks the member. Meanwhile other callers with a question wait.
	asking chan struct{}

	mu       sync.Mutex
	versions map[string][]string
	known    map[schema.GroupVersion][]discovery.Resource
	count    int // of resources in known
	// doubted are the built-in kinds that the member did not serve at their usual path. For these kinds the mapper asks
	// the member.
	doubted map[schema.GroupKind]bool
}

func newMapper(conn *Conn) *mapper {
	m := &mapper{conn: conn, asking: make(chan struct{}, 1), doubted: map[schema.GroupKind]bool{}}
	m.forget()
	return m
}

// forget drops the cache. The answer to a request that is under way is cached when it arrives, and may be old. If the
// member serves nothing at the mapped path, the caller calls doubt, and the mapper asks again.
func (m *mapper) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.versions, m.known, m.count = map[string][]string{}, map[schema.GroupVersion][]discovery.Resource{}, 0
}

// doubt makes the next mapping of a kind ask the member.
func (m *mapper) doubt(gk schema.GroupKind) {
	m.forget()
	if builtIn.mapping(gk, "") == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doubted[gk] = true
}

// byItself returns the mapping of a built-in kind that the mapper knows without asking the member, nil for any other
// kind.
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

// mapping is Conn.Mapping.
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
		return found, nil // name and scope of a built-in kind never come from the member
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

// resource returns the version and kind in which the member serves a resource.
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

// find looks for a resource in the given versions of a group, first in the cache, then at the member. Without versions
// it looks in all versions. The result is nil if there is no such resource.
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
	if gv, r := m.remembered(group, versions, is); r != nil { // another caller has asked meanwhile
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
		if versions, err = discovery.Versions(ctx, m.conn.rest, group); apierrors.IsNotFound(err) {
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
		resources, err := discovery.Resources(ctx, m.conn.rest, gv)
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
