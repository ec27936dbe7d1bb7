// SPDX-License-Identifier: Apache-2.0

package push

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// create creates an object as the member's administrator.
func (s *site) create(text string) *unstructured.Unstructured {
	s.Helper()
	u := s.parse(text)
	if err := s.admin.Create(s.Context(), u, client.FieldOwner("admin")); err != nil {
		s.Fatal(err)
	}
	return u
}

func (s *site) parse(text string) *unstructured.Unstructured {
	s.Helper()
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &u.Object); err != nil {
		s.Fatal(err)
	}
	mapping, err := s.admin.RESTMapper().RESTMapping(u.GroupVersionKind().GroupKind())
	if err == nil && mapping.Scope.Name() == "namespace" && u.GetNamespace() == "" {
		u.SetNamespace(s.namespace)
	}
	return u
}

// openNamespace creates the site's namespace as the member's administrator, open to the host.
func (s *site) openNamespace() {
	s.Helper()
	s.create(fmt.Sprintf(`{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {federation.fairlead.dev/open: "true"}}}`,
		s.namespace))
}

// get reads an object; nil when it is absent.
func (s *site) get(apiVersion, kind, name string) *unstructured.Unstructured {
	s.Helper()
	u := s.parse(fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %q}}", apiVersion, kind, name))
	err := s.admin.Get(s.Context(), client.ObjectKeyFromObject(u), u)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.Fatal(err)
	}
	return u
}

func (s *site) configMap(name string) *corev1.ConfigMap {
	s.Helper()
	cm := &corev1.ConfigMap{}
	err := s.admin.Get(s.Context(), types.NamespacedName{Namespace: s.namespace, Name: name}, cm)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.Fatal(err)
	}
	return cm
}

// edit changes an object as this field manager. It sends a merge patch, which does not conflict with writes of
// controllers.
func (s *site) edit(apiVersion, kind, name, manager string, change func(*unstructured.Unstructured)) {
	s.Helper()
	u := s.get(apiVersion, kind, name)
	before := u.DeepCopy()
	change(u)
	if err := s.admin.Patch(s.Context(), u, client.MergeFrom(before), client.FieldOwner(manager)); err != nil {
		s.Fatal(err)
	}
}

func (s *site) delete(apiVersion, kind, name string) {
	s.Helper()
	u := s.parse(fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %q}}", apiVersion, kind, name))
	if err := s.admin.Delete(s.Context(), u); err != nil {
		s.Fatal(err)
	}
}

// delivery returns the wrapper's Delivery; nil when there is none.
func (s *site) delivery() *v1alpha1.Delivery {
	s.Helper()
	d := &v1alpha1.Delivery{}
	err := s.admin.Get(s.Context(), types.NamespacedName{Namespace: v1alpha1.SystemNamespace, Name: KeyOf(s.wrapper).Delivery()}, d)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		s.Fatal(err)
	}
	return d
}

// inventory returns the Delivery's inventory as lines "Kind name State"; nil when there is no Delivery. The test fails
// if the uid of an Applied entry is not that of the object on the member.
func (s *site) inventory() []string {
	s.Helper()
	d := s.delivery()
	if d == nil {
		return nil
	}
	lines := []string{}
	for i := range d.Spec.Inventory {
		e := &d.Spec.Inventory[i]
		lines = append(lines, fmt.Sprintf("%s %s %s", e.Kind, e.Name, e.State))
	}
	return lines
}

// pushed returns the names and the data of the ConfigMaps that have the wrapper's label.
func (s *site) pushed() map[string]map[string]string {
	s.Helper()
	list := &corev1.ConfigMapList{}
	if err := s.admin.List(s.Context(), list, client.InNamespace(s.namespace),
		client.MatchingLabels{v1alpha1.LabelUID: string(s.wrapper.UID)}); err != nil {
		s.Fatal(err)
	}
	found := make(map[string]map[string]string)
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			found[list.Items[i].Name] = list.Items[i].Data
		}
	}
	return found
}
