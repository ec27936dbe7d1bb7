// SPDX-License-Identifier: Apache-2.0

package member

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
)

var (
	deployments = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	crates      = schema.GroupKind{Group: "shop.example.com", Kind: "Crate"}
)

func mapped(t *testing.T, conn *Conn, gk schema.GroupKind) string {
	t.Helper()
	mapping, err := conn.Mapping(gk, "v1")
	if err != nil {
		t.Fatal(err)
	}
	return mapping.Resource.Resource + "/" + string(mapping.Scope.Name())
}

func TestBuiltInKindsAreAskedForOnceForAllMembersOfAVersion(t *testing.T) {
	shared := &Mappings{}
	first, equal, other := newAPIServer(t), newAPIServer(t), newAPIServer(t)
	other.says("/version", version.Info{GitVersion: "v1.35.0"})
	for _, step := range []struct {
		name   string
		server *apiServer
		gk     schema.GroupKind
		want   string
		asks   bool
	}{
		{"the first member is asked", first, deployments, "deployments/namespace", true},
		{"one of the same version is not", equal, deployments, "deployments/namespace", false},
		{"one of another version is", other, deployments, "deployments/namespace", true},
		{"a kind that is not built in is each member's own matter", equal, crates, "crates/root", true},
	} {
		t.Run(step.name, func(t *testing.T) {
			conn := connected(t, step.server.config("t"), shared)
			if _, err := conn.ServerVersion(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := step.server.requests()
			if got := mapped(t, conn, step.gk); got != step.want {
				t.Errorf("mapped to %s", got)
			}
			if asked := step.server.requests() > before; asked != step.asks {
				t.Errorf("asked: %v", asked)
			}
		})
	}
}

func TestNothingIsSharedBeforeTheVersionIsKnown(t *testing.T) {
	shared := &Mappings{}
	server := newAPIServer(t)
	mapped(t, connected(t, server.config("t"), shared), deployments)
	before := server.requests()
	mapped(t, connected(t, server.config("t"), shared), deployments)
	if server.requests() == before {
		t.Error("a mapping of a server of unknown version was shared")
	}
}

func TestAKindThatComesAndGoes(t *testing.T) {
	server := newAPIServer(t)
	conn := connected(t, server.config("t"), nil)
	barrels := schema.GroupKind{Group: "later.example.com", Kind: "Barrel"}
	if _, err := conn.Mapping(barrels, "v1"); !meta.IsNoMatchError(err) {
		t.Fatalf("want no match, got %v", err)
	}
	mapped(t, conn, crates)
	before := server.requests()
	mapped(t, conn, crates)
	if server.requests() != before {
		t.Error("what is known is asked for again")
	}
	server.mu.Lock()
	delete(server.answers, "/apis/shop.example.com")
	delete(server.answers, "/apis/shop.example.com/v1")
	server.mu.Unlock()
	server.says("/apis", struct{}{})
	conn.ForgetMappings()
	if _, err := conn.Mapping(crates, "v1"); !meta.IsNoMatchError(err) {
		t.Errorf("want no match once it is gone and forgotten, got %v", err)
	}
}

func TestIsBuiltIn(t *testing.T) {
	for group, want := range map[string]bool{
		"": true, "apps": true, "batch": true, "storage.k8s.io": true, "networking.k8s.io": true,
		"snapshot.storage.k8s.io": false, "gateway.networking.k8s.io": false, "operators.coreos.com": false, "shop.example.com": false,
	} {
		if got := isBuiltIn(group); got != want {
			t.Errorf("isBuiltIn(%q) = %v", group, got)
		}
	}
}
