// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// restMapper makes a mapper implement the interface meta.RESTMapper. The methods of that interface have no context, so
// only the mapper's own time limit ends their requests.
type restMapper struct{ *mapper }

var _ meta.RESTMapper = restMapper{}

func given(version string) []string {
	if version == "" {
		return nil
	}
	return []string{version}
}

// RESTMapping implements meta.RESTMapper.
func (m restMapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return m.mapping(context.Background(), gk, versions...)
}

// RESTMappings implements meta.RESTMapper.
func (m restMapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	found, err := m.RESTMapping(gk, versions...)
	return []*meta.RESTMapping{found}, err
}

// KindFor implements meta.RESTMapper.
func (m restMapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	gv, kind, err := m.resource(context.Background(), resource.GroupResource(), given(resource.Version)...)
	return gv.WithKind(kind), err
}

// KindsFor implements meta.RESTMapper.
func (m restMapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	found, err := m.KindFor(resource)
	return []schema.GroupVersionKind{found}, err
}

// ResourceFor implements meta.RESTMapper. It finds a resource only by its full plural name.
func (m restMapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	gv, _, err := m.resource(context.Background(), input.GroupResource(), given(input.Version)...)
	return gv.WithResource(input.Resource), err
}

// ResourcesFor implements meta.RESTMapper.
func (m restMapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	found, err := m.ResourceFor(input)
	return []schema.GroupVersionResource{found}, err
}

// ResourceSingularizer implements meta.RESTMapper. It returns the name unchanged. Only kubectl accepts singular names
// from its users, and kubectl does not use this mapper.
func (m restMapper) ResourceSingularizer(resource string) (string, error) { return resource, nil }
