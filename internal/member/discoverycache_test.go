// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/discovery"
)

var (
	deployments = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	crates      = schema.GroupKind{Group: "shop.example.com", Kind: "Crate"}
)

func mapped(t *testing.T, conn *Conn, gk schema.GroupKind, versions ...string) string {
	t.Helper()
	mapping, err := conn.Mapping(t.Context(), gk, versions...)
	if err != nil {
		t.Fatal(err)
	}
	return mapping.Resource.String() + " " + string(mapping.Scope.Name())
}

// lies makes the member answer that Deployment is a cluster-scoped kind with another resource name.
func lies(s *apiServer) {
	s.says("/apis/apps/v1", resources("apps/v1", metav1.APIResource{Name: "evil", Kind: "Deployment"},
		metav1.APIResource{Name: "..", Kind: "StatefulSet"}))
}

func TestTheMappingOfABuiltInKindNeverComesFromTheMember(t *testing.T) {
	const want = "apps/v1, Resource=deployments namespace"
	liar, honest := newAPIServer(t), newAPIServer(t)
	lies(liar)
	for name, server := range map[string]*apiServer{"the liar": liar, "the honest one": honest} {
		conn := connected(t, server.config("t"))
		if _, err := conn.prober.serverVersion(t.Context()); err != nil { // the liar does not lie about its version
			t.Fatal(err)
		}
		before := server.requests()
		for _, versions := range [][]string{nil, {"v1"}} {
			if got := mapped(t, conn, deployments, versions...); got != want {
				t.Errorf("%s: %s", name, got)
			}
		}
		if server.requests() != before {
			t.Errorf("%s was asked", name)
		}
		conn.DoubtMapping(deployments)
		if got := mapped(t, conn, deployments, "v1"); got != want || server.requests() == before {
			t.Errorf("%s, in doubt: %s after %d requests", name, got, server.requests()-before)
		}
	}
}

func TestABuiltInKindThatTheMemberLacksHasNoMapping(t *testing.T) {
	server := newAPIServer(t)
	conn := connected(t, server.config("t"))
	job := schema.GroupKind{Group: "batch", Kind: "Job"}
	mapped(t, conn, job, "v1") // the mapping of a built-in kind sends no request
	conn.DoubtMapping(job)
	if _, err := conn.Mapping(t.Context(), job, "v1"); !meta.IsNoMatchError(err) {
		t.Fatalf("want no match, got %v", err)
	}
	server.says("/apis/batch/v1", resources("batch/v1", metav1.APIResource{Name: "jobs", Kind: "Job", Namespaced: true}))
	if got := mapped(t, conn, job, "v1"); got != "batch/v1, Resource=jobs namespace" {
		t.Errorf("switched on: %s", got)
	}
	if _, err := conn.Mapping(t.Context(), deployments, "v1beta2"); !meta.IsNoMatchError(err) {
		t.Errorf("a version of before: want no match, got %v", err)
	}
}

func TestTheMapperFollowsAKindThatAppearsAndDisappears(t *testing.T) {
	server := newAPIServer(t)
	conn := connected(t, server.config("t"))
	barrels := schema.GroupKind{Group: "later.example.com", Kind: "Barrel"}
	for range 2 {
		if _, err := conn.Mapping(t.Context(), barrels, "v1"); !meta.IsNoMatchError(err) {
			t.Fatalf("want no match, got %v", err)
		}
	}
	const want = "shop.example.com/v1, Resource=crates root"
	for _, versions := range [][]string{{"v1"}, nil, {"v1"}} {
		if got := mapped(t, conn, crates, versions...); got != want {
			t.Error(got)
		}
	}
	if n := server.times("/apis/shop.example.com/v1"); n != 2 { // the first request learns the preferred version, the second the kinds
		t.Errorf("asked %d times", n)
	}
	server.says("/apis/shop.example.com/v1", resources("shop.example.com/v1",
		metav1.APIResource{Name: "crates", Kind: "Crate"}, metav1.APIResource{Name: "boxes", Kind: "Box", Namespaced: true}))
	if got := mapped(t, conn, schema.GroupKind{Group: crates.Group, Kind: "Box"}, "v1"); got != "shop.example.com/v1, Resource=boxes namespace" {
		t.Errorf("a kind that came: %s", got)
	}
	server.mu.Lock()
	delete(server.answers, "/apis/shop.example.com")
	delete(server.answers, "/apis/shop.example.com/v1")
	server.mu.Unlock()
	conn.ForgetMappings()
	if _, err := conn.Mapping(t.Context(), crates, "v1"); !meta.IsNoMatchError(err) {
		t.Errorf("want no match once it is gone and forgotten, got %v", err)
	}
}

func TestDiscoveryThatCannotBeUsedIsAnError(t *testing.T) {
	many := make([]metav1.APIResource, discovery.MaxResources+1)
	for i := range many {
		many[i] = metav1.APIResource{Name: fmt.Sprint("n", i), Kind: fmt.Sprint("N", i)}
	}
	versions := group("shop.example.com")
	for i := range discovery.MaxVersions + 1 {
		versions.Versions = append(versions.Versions, metav1.GroupVersionForDiscovery{Version: fmt.Sprint("v", i)})
	}
	climbing := group("shop.example.com")
	climbing.PreferredVersion.Version = "../../api/v1"
	for name, says := range map[string]struct {
		path    string
		answer  any
		version []string
	}{
		"a resource that is a path":  {"/apis/shop.example.com/v1", resources("shop.example.com/v1", metav1.APIResource{Name: "..", Kind: "Crate"}), []string{"v1"}},
		"a resource that is long":    {"/apis/shop.example.com/v1", resources("shop.example.com/v1", metav1.APIResource{Name: strings.Repeat("x", 64), Kind: "Crate"}), nil},
		"too many resources":         {"/apis/shop.example.com/v1", resources("shop.example.com/v1", many...), []string{"v1"}},
		"too many versions":          {"/apis/shop.example.com", versions, nil},
		"a version that is a path":   {"/apis/shop.example.com", climbing, nil},
		"a resource without a name":  {"/apis/shop.example.com/v1", resources("shop.example.com/v1", metav1.APIResource{Kind: "Crate"}), nil},
		"a resource of control keys": {"/apis/shop.example.com/v1", resources("shop.example.com/v1", metav1.APIResource{Name: "\x1b[31m", Kind: "Crate"}), nil},
	} {
		t.Run(name, func(t *testing.T) {
			server := newAPIServer(t)
			server.says(says.path, says.answer)
			_, err := connected(t, server.config("t")).Mapping(t.Context(), crates, says.version...)
			invalid := (*discovery.InvalidError)(nil)
			if !errors.As(err, &invalid) || strings.ContainsAny(err.Error(), "\x1b") || len(err.Error()) > 256 {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAFailedDiscoveryIsNotTakenForAMissingKind(t *testing.T) {
	server := newAPIServer(t)
	server.says("/apis/shop.example.com/v1", apierrors.NewServiceUnavailable("the server of this group is away"))
	conn := connected(t, server.config("t"))
	for _, versions := range [][]string{{"v1"}, nil} {
		if _, err := conn.Mapping(t.Context(), crates, versions...); !apierrors.IsServiceUnavailable(err) {
			t.Errorf("got %v", err)
		}
	}
}

func TestAMappingEndsWithTheContextOfItsCaller(t *testing.T) {
	server := newAPIServer(t)
	conn := connected(t, server.config("t"))
	conn.mapper.asking <- struct{}{} // another caller holds the slot and gets no answer from the member
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the member is not wanted any more")
	cancel(why)
	if _, err := conn.Mapping(ctx, crates, "v1"); !errors.Is(err, why) {
		t.Errorf("got %v", err)
	}
	mapped(t, conn, deployments, "v1") // a built-in kind needs no request, so this call does not wait
}

// A member serves 16 versions, each with the largest allowed number of resources and with long names. Without the bound
// on the cache, this took 1,282 MiB of memory.
func TestTheDiscoveryCacheIsSmall(t *testing.T) {
	server := newAPIServer(t)
	conn := connected(t, server.config("t"))
	big := make([]metav1.APIResource, discovery.MaxResources)
	for i := range big {
		big[i] = metav1.APIResource{Name: fmt.Sprintf("%060d", i), Kind: fmt.Sprintf("K%060d", i), SingularName: strings.Repeat("s", 100),
			ShortNames: []string{"a", "b"}, Categories: []string{"c"}}
	}
	for v := range 16 {
		gv := fmt.Sprintf("shop.example.com/v%d", v)
		server.says("/apis/"+gv, resources(gv, big...))
	}
	before := heap()
	for v := range 16 {
		if _, err := conn.Mapping(t.Context(), schema.GroupKind{Group: crates.Group, Kind: fmt.Sprintf("K%060d", v)}, fmt.Sprint("v", v)); err != nil {
			t.Fatal(err)
		}
	}
	if grown := int64(heap() - before); grown > 4<<20 { //nolint:gosec // heaps are smaller
		t.Errorf("%d KiB are kept", grown>>10)
	}
	runtime.KeepAlive(conn)
}

func heap() uint64 {
	http.DefaultClient.CloseIdleConnections()
	runtime.GC()
	runtime.GC()
	is := runtime.MemStats{}
	runtime.ReadMemStats(&is)
	return is.HeapAlloc
}

// controller-runtime's client, and a collector inside the manager, use the mapper through meta.RESTMapper.
func TestTheRESTMapperGivesTheSameMappings(t *testing.T) {
	server := newAPIServer(t)
	conn := connected(t, server.config("t"))
	mapper := conn.GetRESTMapper()
	before := server.requests()
	for resource, want := range map[schema.GroupVersionResource]string{
		{Group: "apps", Resource: "deployments"}:                "apps/v1, Resource=deployments; apps/v1, Kind=Deployment",
		{Resource: "endpoints"}:                                 "/v1, Resource=endpoints; /v1, Kind=Endpoints",
		{Group: v1alpha1.Group, Resource: "deliveries"}:         v1alpha1.Group + "/v1alpha1, Resource=deliveries; " + v1alpha1.Group + "/v1alpha1, Kind=Delivery",
		{Group: "networking.k8s.io", Resource: "ingresses"}:     "networking.k8s.io/v1, Resource=ingresses; networking.k8s.io/v1, Kind=Ingress",
		{Group: "shop.example.com", Resource: "crates"}:         "shop.example.com/v1, Resource=crates; shop.example.com/v1, Kind=Crate",
		{Group: "apps", Version: "v1", Resource: "replicasets"}: "apps/v1, Resource=replicasets; apps/v1, Kind=ReplicaSet",
	} {
		gvr, err := mapper.ResourceFor(resource)
		gvk, other := mapper.KindFor(resource)
		if got := gvr.String() + "; " + gvk.String(); err != nil || other != nil || got != want {
			t.Errorf("%s: %s (%v, %v)", resource, got, err, other)
		}
	}
	if n := server.requests() - before; n != 2 {
		t.Errorf("%d requests", n)
	}
	if _, err := mapper.ResourceFor(schema.GroupVersionResource{Group: "shop.example.com", Resource: "barrels"}); !meta.IsNoMatchError(err) {
		t.Errorf("want no match, got %v", err)
	}
	obj := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
	server.says("/api/v1/namespaces/n", obj)
	if err := conn.GetClient().Get(t.Context(), client.ObjectKey{Name: "n"}, obj); err != nil {
		t.Error(err)
	}
}
