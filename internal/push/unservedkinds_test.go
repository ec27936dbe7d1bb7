// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/discovery"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

func (s *site) crate(group string) string {
	return fmt.Sprintf("{apiVersion: %s/v1, kind: Crate, metadata: {name: c}}", group)
}

// serve makes the member serve all versions of a CRD, or none.
func (s *site) serve(definition string, served bool) {
	s.Helper()
	s.edit("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition, "admin", func(u *unstructured.Unstructured) {
		versions, _, _ := unstructured.NestedSlice(u.Object, "spec", "versions")
		for i := range versions {
			versions[i].(map[string]any)["served"] = served
		}
		_ = unstructured.SetNestedSlice(u.Object, versions, "spec", "versions")
	})
}

func (s *site) unserved(group string) {
	s.Helper()
	s.await("the kind is not served any more", func(context.Context) bool {
		s.conn.ForgetMappings()
		_, err := s.conn.Mapping(s.Context(), schema.GroupKind{Group: group, Kind: "Crate"})
		return meta.IsNoMatchError(err)
	})
}

// While the member does not serve a kind, no client can read objects of it, but etcd still has them.
func TestTheDeliveryKeepsAnObjectWhoseKindIsNotServed(t *testing.T) {
	s := newSite(t)
	group := s.namespace + ".example.com"
	definition := s.create(crd("crates", "Crate", group, "Namespaced", "v1"))
	t.Cleanup(func() { _ = s.admin.Delete(context.Background(), definition) })
	s.served(group+"/v1", "Crate")
	s.mustDeliver(s.want(configMap("a", "1"), s.crate(group)))

	s.serve(definition.GetName(), false)
	s.unserved(group)
	out := s.mustFail(s.leave(), v1alpha1.ReasonRemovalWaits, "Crate c", definition.GetName())
	if d := s.delivery(); d == nil || out.Retry == 0 || !strings.Contains(fmt.Sprint(s.inventory()), "Crate c Removing") {
		t.Fatalf("the Delivery has lost the object, or the pass is not tried again (retry %s): %v", out.Retry, s.inventory())
	}
	s.serve(definition.GetName(), true)
	s.served(group+"/v1", "Crate")
	s.eventually(s.leave())
	if s.get(group+"/v1", "Crate", "c") != nil || s.delivery() != nil {
		t.Error("something is left")
	}
}

// The connection has cached the kinds of an API group, and then the group gets a second version with another kind.
func TestAPassDiscoversAKindThatTheCacheLacks(t *testing.T) {
	s := newSite(t)
	group := s.namespace + ".example.com"
	define := func(text string) {
		definition := s.create(text)
		t.Cleanup(func() { _ = s.admin.Delete(context.Background(), definition) })
	}
	define(crd("boxes", "Box", group, "Namespaced", "v1"))
	s.await("the discovery of the group is cached", func(context.Context) bool {
		_, err := s.conn.Mapping(t.Context(), schema.GroupKind{Group: group, Kind: "Box"})
		return err == nil
	})
	define(crd("crates", "Crate", group, "Namespaced", "v2"))
	s.served(group+"/v2", "Crate")
	old := s.conn
	s.connect(config)
	s.eventually(s.want(fmt.Sprintf("{apiVersion: %s/v2, kind: Crate, metadata: {name: c}}", group)))
	s.conn = old
	s.mustDeliver(s.leave())
	if s.get(group+"/v2", "Crate", "c") != nil {
		t.Error("the object still exists, and no Delivery lists it")
	}
}

// recorded delivers ConfigMap a, and adds to the Delivery an object of a kind that the member does not serve.
func (s *site) recorded(group string) {
	s.Helper()
	s.mustDeliver(s.want(configMap("a", "1")))
	d := s.delivery()
	d.Spec.Inventory = append(d.Spec.Inventory, v1alpha1.InventoryEntry{Group: group, Kind: "Crate", Resource: "crates", Name: "c",
		State: v1alpha1.EntryApplied, UID: "gone"})
	if err := s.admin.Update(s.Context(), d); err != nil {
		s.Fatal(err)
	}
}

// aggregate registers an aggregated API whose server does not answer.
func (s *site) aggregate(group string) client.Object {
	s.Helper()
	down := s.create(fmt.Sprintf(`{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1.%s}, spec: {group: %s,
		version: v1, groupPriorityMinimum: 100, versionPriority: 100, service: {namespace: default, name: nobody}}}`, group, group))
	s.Cleanup(func() { _ = s.admin.Delete(context.Background(), down) })
	s.await("the group is announced and does not answer", func(ctx context.Context) bool {
		_, err := discovery.Serves(ctx, s.conn.REST(), schema.GroupKind{Group: group, Kind: "Crate"})
		return memberapi.IsAway(err)
	})
	s.conn.ForgetMappings()
	return down
}

func TestTheDeliveryKeepsAnObjectWhoseAPIDoesNotAnswer(t *testing.T) {
	s := newSite(t)
	group := s.namespace + ".example.com"
	s.recorded(group)
	down := s.aggregate(group)
	for range 2 { // the second pass uses the connection's cached discovery
		if out := s.mustFail(s.leave(), v1alpha1.ReasonRemovalWaits, "Crate c"); out.Retry == 0 {
			t.Error("the pass is not tried again")
		}
	}
	if s.delivery() == nil {
		t.Fatal("the Delivery is gone")
	}
	if err := s.admin.Delete(t.Context(), down); err != nil {
		t.Fatal(err)
	}
	s.eventually(s.leave())
	if s.delivery() != nil {
		t.Error("the API was removed with all its objects, and the Delivery still exists")
	}
}

func TestAKindCountsAsGoneOnlyIfItsCRDCanBeRead(t *testing.T) {
	s := newSite(t)
	s.recorded(s.namespace + ".example.com")
	s.restricted(rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"*"}})
	s.await("the role is in effect", func(ctx context.Context) bool {
		_, err := memberapi.Metadata(ctx, s.conn, []string{"/api/v1/namespaces", s.namespace, "configmaps", "a"})
		return err == nil
	})
	s.mustFail(s.leave(), v1alpha1.ReasonNotGranted, "Crate c", "resources: [customresourcedefinitions]", "verbs: [get]", "KeepAll")
	all := s.leave()
	all.OnDelete = v1alpha1.KeepAll
	s.mustDeliver(all)
}

// The server of one aggregated API does not answer. The other objects of the wrapper must be delivered all the same.
func TestAnAPIThatDoesNotAnswerDelaysOnlyItsOwnObjects(t *testing.T) {
	s := newSite(t)
	group := s.namespace + ".example.com"
	down := s.aggregate(group)
	w := s.want(configMap("a", "1"), s.crate(group))
	for range 2 { // the second pass uses the connection's cached discovery
		out := s.mustFail(w, v1alpha1.ReasonPushError, "Crate c", group)
		if out.Retry == 0 || out.State != v1alpha1.StateDegraded {
			t.Errorf("state %s, retry %s", out.State, out.Retry)
		}
	}
	if s.configMap("a") == nil {
		t.Error("the other object was delayed")
	}
	if err := s.admin.Delete(t.Context(), down); err != nil {
		t.Fatal(err)
	}
	s.await("the member does not announce the group any more", func(ctx context.Context) bool {
		out, err := (&pass{conn: s.conn, want: w}).run(ctx)
		return err == nil && out.Reason == v1alpha1.ReasonAPINotServed && out.Retry == 0
	})
}

// The server of an aggregated API stops after the connection has cached how the kind is served.
func TestAnUnansweredRequestToOneAPIDelaysOnlyThatObject(t *testing.T) {
	for _, method := range []string{"GET", "PATCH"} {
		t.Run(method, func(t *testing.T) {
			s := newSite(t)
			group := s.namespace + ".example.com"
			definition := s.create(crd("crates", "Crate", group, "Namespaced", "v1"))
			t.Cleanup(func() { _ = s.admin.Delete(context.Background(), definition) })
			s.served(group+"/v1", "Crate")
			s.wire.answer = func(req *http.Request) *http.Response {
				switch nameOf(req) {
				case method + " crates/c":
					return refusal(req, apierrors.NewServiceUnavailable("no endpoints available"))
				case "GET customresourcedefinitions/crates." + group: // no CRD defines the kind, so an aggregated API serves it
					return refusal(req, apierrors.NewNotFound(schema.GroupResource{Resource: "customresourcedefinitions"}, "crates."+group))
				}
				return nil
			}
			w := s.want(configMap("z", "1"), s.crate(group))
			s.mustFail(w, v1alpha1.ReasonPushError, "Crate c", "no endpoints available")
			if s.configMap("z") == nil {
				t.Error("the other object was delayed")
			}
			s.wire.answer = nil
			s.mustDeliver(w)
			s.wire.answer = func(req *http.Request) *http.Response {
				if strings.HasSuffix(nameOf(req), " crates/c") {
					return refusal(req, apierrors.NewServiceUnavailable("no endpoints available"))
				}
				return nil
			}
			s.mustFail(s.leave(), v1alpha1.ReasonPushError, "Crate c")
			s.wire.answer = nil
			s.eventually(s.leave())
		})
	}
}

// Deleting a CRD also deletes its objects. If the manager cannot list them, some may belong to other clients.
func TestACRDIsKeptWhileItsObjectsCannotBeListed(t *testing.T) {
	for name, test := range map[string]struct {
		hide, show func(s *site, definition string)
	}{
		"no version is served": {
			hide: func(s *site, definition string) { s.serve(definition, false) },
			show: func(s *site, definition string) { s.serve(definition, true) },
		},
		"the kind is not served any more": {
			hide: func(s *site, _ string) {
				s.wire.answer = func(req *http.Request) *http.Response {
					if nameOf(req) == "GET v1/crates" {
						return refusal(req, apierrors.NewNotFound(schema.GroupResource{}, ""))
					}
					return nil
				}
			},
			show: func(s *site, _ string) { s.wire.answer = nil },
		},
		"the CRD cannot be read": {
			hide: func(s *site, definition string) {
				s.wire.answer = func(req *http.Request) *http.Response {
					if nameOf(req) == "GET customresourcedefinitions/"+definition && !strings.Contains(req.Header.Get("Accept"), "Metadata") {
						return refusal(req, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("no")))
					}
					return nil
				}
			},
			show: func(s *site, _ string) { s.wire.answer = nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newClusterSite(t)
			group := s.namespace + ".example.com"
			definition := "crates." + group
			s.mustDeliver(s.want(crd("crates", "Crate", group, "Cluster", "v1")))
			s.served(group+"/v1", "Crate")
			test.hide(s, definition)
			leave := s.leave()
			leave.OnDelete = v1alpha1.DeleteAll
			if out := s.mustFail(leave, v1alpha1.ReasonNotEmpty, "CustomResourceDefinition "+definition); out.Retry == 0 {
				t.Error("the pass is not tried again")
			}
			if u := s.get("apiextensions.k8s.io/v1", "CustomResourceDefinition", definition); u == nil || u.GetDeletionTimestamp() != nil {
				t.Fatal("the CRD was deleted")
			}
			test.show(s, definition)
			s.eventually(leave)
		})
	}
}
