// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Mappings are the REST mappings of built-in kinds by server version, shared by all members. What one
// member has answered, no other of its version is asked again; nobody waits for anybody's answer.
type Mappings struct {
	known sync.Map // mappingKey → *meta.RESTMapping
}

type mappingKey struct {
	server, versions string
	gk               schema.GroupKind
}

// mapper maps kinds to resources: from what is shared where it can, else by asking its own member,
// lazily and one group at a time.
type mapper struct {
	conn   *Conn
	shared *Mappings

	mu  sync.Mutex
	own meta.RESTMapper
}

func newMapper(conn *Conn, shared *Mappings) *mapper {
	if shared == nil {
		shared = &Mappings{}
	}
	return &mapper{conn: conn, shared: shared}
}

// isBuiltIn says whether a group is Kubernetes' own, and so the same on all members of one version.
func isBuiltIn(group string) bool {
	if !strings.Contains(group, ".") {
		return true
	}
	switch group {
	case "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
		"certificates.k8s.io", "coordination.k8s.io", "discovery.k8s.io", "networking.k8s.io",
		"node.k8s.io", "rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io",
		"storage.k8s.io":
		return true
	}
	return false
}

// asking is the mapper that asks the member.
func (m *mapper) asking() (meta.RESTMapper, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.own == nil {
		own, err := apiutil.NewDynamicRESTMapper(m.conn.config, m.conn.http)
		if err != nil {
			return nil, fmt.Errorf("discovering the kinds of member %s: %w", m.conn.name, err)
		}
		m.own = own
	}
	return m.own, nil
}

func (m *mapper) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.own = nil
}

func (m *mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	server := m.conn.serverVersion()
	key := mappingKey{server: server, versions: strings.Join(versions, ","), gk: gk}
	share := server != "" && isBuiltIn(gk.Group)
	if share {
		if found, ok := m.shared.known.Load(key); ok {
			return found.(*meta.RESTMapping), nil
		}
	}
	own, err := m.asking()
	if err != nil {
		return nil, err
	}
	found, err := own.RESTMapping(gk, versions...)
	if err == nil && share {
		m.shared.known.Store(key, found)
	}
	return found, err
}

func (m *mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	own, err := m.asking()
	if err != nil {
		return nil, err
	}
	return own.RESTMappings(gk, versions...)
}

func (m *mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	own, err := m.asking()
	if err != nil {
		return schema.GroupVersionKind{}, err
	}
	return own.KindFor(resource)
}

func (m *mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	own, err := m.asking()
	if err != nil {
		return nil, err
	}
	return own.KindsFor(resource)
}

func (m *mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	own, err := m.asking()
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return own.ResourceFor(input)
}

func (m *mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	own, err := m.asking()
	if err != nil {
		return nil, err
	}
	return own.ResourcesFor(input)
}

func (m *mapper) ResourceSingularizer(resource string) (string, error) {
	own, err := m.asking()
	if err != nil {
		return "", err
	}
	return own.ResourceSingularizer(resource)
}
