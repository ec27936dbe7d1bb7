// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestANamespaceWithObjectsOfOthersIsNotDeleted(t *testing.T) {
	s := newClusterSite(t)
	w := s.want(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", s.namespace))
	s.mustDeliver(w)
	s.create(configMap("theirs", "1"))

	leave := s.leave()
	leave.OnDelete = v1alpha1.DeleteAll
	out := s.mustFail(leave, v1alpha1.ReasonNotEmpty, "configmaps/theirs")
	if out.State != v1alpha1.StateStalled {
		t.Errorf("state %s", out.State)
	}
	s.delete("v1", "ConfigMap", "theirs")
	s.eventually(leave)
	if s.get("v1", "Namespace", s.namespace) != nil || s.delivery() != nil {
		t.Error("something is left")
	}
}

func TestAnAdoptedNamespaceIsNeverDeleted(t *testing.T) {
	s := newClusterSite(t)
	s.openNamespace()
	w := s.want(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", s.namespace))
	w.OnConflict, w.OnDelete = v1alpha1.ConflictAdoptIfEqual, v1alpha1.DeleteAll
	s.mustDeliver(w)
	leave := s.leave()
	leave.OnDelete = v1alpha1.DeleteAll
	s.mustDeliver(leave)
	ns := s.get("v1", "Namespace", s.namespace)
	if ns == nil || ns.GetDeletionTimestamp() != nil {
		t.Fatal("the adopted namespace was deleted")
	}
	if ns.GetLabels()[v1alpha1.LabelUID] != "" {
		t.Errorf("the namespace was not released: %v", ns.GetLabels())
	}
}

func TestACRDWithObjectsOfOthersIsNotDeleted(t *testing.T) {
	s := newClusterSite(t)
	group := s.namespace + ".example.com"
	w := s.want(crd("crates", "Crate", group, "Cluster", "v1"))
	s.mustDeliver(w)
	s.served(group+"/v1", "Crate")
	s.create(fmt.Sprintf("{apiVersion: %s/v1, kind: Crate, metadata: {name: theirs}}", group))

	leave := s.leave()
	leave.OnDelete = v1alpha1.DeleteAll
	s.mustFail(leave, v1alpha1.ReasonNotEmpty, "crates/theirs")
	s.delete(group+"/v1", "Crate", "theirs")
	s.eventually(leave)
	if s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", "crates."+group) != nil {
		t.Error("the CRD is still there")
	}
}

// The server of an API group is down, so the manager cannot list objects of its kinds. Such objects may be in the
// namespace.
func TestANamespaceIsKeptWhileItsContentsCannotBeListed(t *testing.T) {
	s := newClusterSite(t)
	s.mustDeliver(s.want(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", s.namespace),
		// This second object must not wait for the Namespace.
		fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s}}", s.namespace)))
	down := s.create(`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.down.example.com},
		spec: {group: down.example.com, version: v1, groupPriorityMinimum: 100, versionPriority: 100,
            service: {namespace: default, name: nobody}}}`)
	t.Cleanup(func() { _ = s.admin.Delete(context.Background(), down) })
	discoverer := discovery.NewDiscoveryClientForConfigOrDie(config)
	s.await("the group is announced", func(context.Context) bool {
		_, err := discoverer.ServerPreferredNamespacedResources()
		return err != nil
	})
	leave := s.leave()
	leave.OnDelete = v1alpha1.DeleteAll
	s.mustFail(leave, v1alpha1.ReasonNotEmpty, "down.example.com")
	if s.get("v1", "Namespace", s.namespace).GetDeletionTimestamp() != nil {
		t.Error("the namespace was deleted")
	}
	if err := s.admin.Delete(t.Context(), down); err != nil {
		t.Fatal(err)
	}
	s.eventually(leave)
}

// An upgrade of an operator stops serving the version of a kind that the connection has cached. The 404 then means that
// the path is unknown, and not that the object is gone.
func TestARemovalFindsAnObjectWhoseMappedVersionIsNoLongerServed(t *testing.T) {
	s := newSite(t)
	group := s.namespace + ".example.com"
	definition := s.create(crd("crates", "Crate", group, "Namespaced", "v1", "v2"))
	s.served(group+"/v2", "Crate")
	s.mustDeliver(s.want(configMap("a", "1"), fmt.Sprintf("{apiVersion: %s/v2, kind: Crate, metadata: {name: c}}", group)))
	if _, err := s.conn.Mapping(t.Context(), schema.GroupKind{Group: group, Kind: "Crate"}); err != nil { // caches the preferred version, v2
		t.Fatal(err)
	}

	only1 := s.parse(crd("crates", "Crate", group, "Namespaced", "v1"))
	only1.SetResourceVersion(s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition.GetName()).GetResourceVersion())
	if err := s.admin.Update(t.Context(), only1); err != nil {
		t.Fatal(err)
	}
	s.await("v2 is not served any more", func(ctx context.Context) bool {
		return s.admin.Get(ctx, client.ObjectKey{Namespace: s.namespace, Name: "c"},
			s.parse(fmt.Sprintf("{apiVersion: %s/v2, kind: Crate, metadata: {name: c}}", group))) != nil
	})
	s.eventually(s.leave())
	if s.get(group+"/v1", "Crate", "c") != nil {
		t.Error("the object still exists, and no Delivery lists it")
	}
}
