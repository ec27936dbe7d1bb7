// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/member"
)

const (
	systemPath     = "/api/v1/namespaces/kube-system"
	membershipPath = "/apis/" + v1alpha1.Group + "/v1alpha1/memberships/" + v1alpha1.MembershipName
	crdsPath       = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	secretsPath    = "/api/v1/namespaces/" + v1alpha1.SystemNamespace + "/secrets"
	rolePath       = "/apis/rbac.authorization.k8s.io/v1/clusterroles/" + permissions.CollectorAccount + "-granted"
)

// apiServer is the part of a member's API server that these tests need: an identity, CRDs with a watch, and the
// collector's role.
type apiServer struct {
	*httptest.Server
	uid types.UID
	// joined is true if the member has a Membership with the host uid host-uid and the member name east.
	joined bool
	// date is the header Date of each response. token is the token in each response to a TokenRequest.
	date  time.Time
	token string
	// keeps is the name of the account for which the server refuses a TokenRequest.
	keeps string

	mu      sync.Mutex
	crds    []string
	watches []chan string // each watch gets the names of CRDs that are created later
	role    rbacv1.ClusterRole
	writes  []string // "METHOD PATH" of each write
	bearers []string // bearer tokens of the writes
	refuses int      // how many further writes of the role the server refuses with a conflict
	changed chan struct{}
}

func newAPIServer(t *testing.T, uid types.UID) *apiServer {
	t.Helper()
	s := &apiServer{uid: uid, changed: make(chan struct{}, 100)}
	s.role.Name, s.role.ResourceVersion = permissions.CollectorAccount+"-granted", "1"
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *apiServer) connect(t *testing.T) *member.Conn {
	t.Helper()
	conn, err := member.Connect("east", s.config())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

func (s *apiServer) config() *rest.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return &rest.Config{Host: s.URL, BearerToken: "t", QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	group := func(name string) metav1.APIGroup {
		v := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
		return metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: name,
			Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}
	}
	if req.Method != http.MethodGet {
		s.mu.Lock()
		s.writes = append(s.writes, req.Method+" "+req.URL.Path)
		s.bearers = append(s.bearers, strings.TrimPrefix(req.Header.Get("Authorization"), "Bearer "))
		s.mu.Unlock()
	}
	if !s.date.IsZero() {
		w.Header().Set("Date", s.date.UTC().Format(http.TimeFormat))
	}
	query := req.URL.Query()
	switch {
	case s.keeps != "" && strings.HasSuffix(req.URL.Path, "/"+s.keeps+"/token"):
		refuse(w, apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts/token"}, s.keeps, errors.New("no rule allows it")))
	case strings.HasSuffix(req.URL.Path, "/token"):
		answer(w, authenticationv1.TokenRequest{TypeMeta: metav1.TypeMeta{Kind: "TokenRequest", APIVersion: "authentication.k8s.io/v1"},
			Status: authenticationv1.TokenRequestStatus{Token: s.token}})
	case req.URL.Path == secretsPath && req.Method == http.MethodPost:
		made := &corev1.Secret{}
		_ = json.NewDecoder(req.Body).Decode(made) // a body that cannot be decoded leaves the name empty
		made.TypeMeta, made.UID = metav1.TypeMeta{Kind: "Secret", APIVersion: "v1"}, "made"
		answer(w, made)
	case strings.HasPrefix(req.URL.Path, secretsPath+"/") && req.Method == http.MethodDelete:
		answer(w, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
	case req.URL.Path == systemPath:
		answer(w, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: s.uid}})
	case req.URL.Path == membershipPath && s.joined:
		answer(w, v1alpha1.Membership{Spec: v1alpha1.MembershipSpec{Host: v1alpha1.HostIdentity{UID: "host-uid", Name: "prod"}, ClusterName: "east"}})
	case req.URL.Path == "/version":
		answer(w, version.Info{GitVersion: "v1.36.3"})
	case req.URL.Path == "/api":
		answer(w, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"}})
	case req.URL.Path == "/api/v1":
		answer(w, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1",
			APIResources: []metav1.APIResource{{Name: "secrets", Kind: "Secret", Namespaced: true, Verbs: []string{"create"}},
				{Name: "serviceaccounts", Kind: "ServiceAccount", Namespaced: true, Verbs: []string{"get"}}}})
	case req.URL.Path == "/apis":
		answer(w, metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"},
			Groups: []metav1.APIGroup{group(rbacv1.GroupName)}})
	case req.URL.Path == "/apis/"+rbacv1.GroupName:
		answer(w, group(rbacv1.GroupName))
	case req.URL.Path == "/apis/"+rbacv1.GroupName+"/v1":
		answer(w, metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: rbacv1.GroupName + "/v1",
			APIResources: []metav1.APIResource{{Name: "clusterroles", Kind: "ClusterRole", Verbs: []string{"get", "update"}}}})
	case req.URL.Path == crdsPath && query.Get("sendInitialEvents") == "true": // the server refuses such a watch, as API servers of older versions do
		refuse(w, apierrors.NewInvalid(schema.GroupKind{Kind: "ListOptions"}, "", nil))
	case req.URL.Path == crdsPath && query.Get("watch") != "":
		s.watch(w, req)
	case req.URL.Path == crdsPath:
		s.list(w)
	case req.URL.Path == rolePath && req.Method == http.MethodPut:
		s.putRole(w, req)
	case req.URL.Path == rolePath:
		s.mu.Lock()
		defer s.mu.Unlock()
		answer(w, s.role)
	default:
		refuse(w, apierrors.NewNotFound(schema.GroupResource{Resource: "any"}, req.URL.Path))
	}
}

func answer(w http.ResponseWriter, obj any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(obj) // the client reports an incomplete response
}

func refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	err.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(err.ErrStatus.Code))
	_ = json.NewEncoder(w).Encode(err.ErrStatus)
}

func crd(name string) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "10"}}
}

func (s *apiServer) list(w http.ResponseWriter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"},
		ListMeta: metav1.ListMeta{ResourceVersion: "10"}}
	for _, name := range s.crds {
		all.Items = append(all.Items, crd(name))
	}
	answer(w, all)
}

func (s *apiServer) watch(w http.ResponseWriter, req *http.Request) {
	come := make(chan string, 10)
	s.mu.Lock()
	s.watches = append(s.watches, come)
	s.mu.Unlock()
	s.changed <- struct{}{}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	for {
		select {
		case <-req.Context().Done():
			return
		case name := <-come:
			_ = json.NewEncoder(w).Encode(map[string]any{"type": "ADDED", "object": crd(name)})
			w.(http.Flusher).Flush()
		}
	}
}

// comes adds a CRD to the member and sends it to the watches.
func (s *apiServer) comes(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crds = append(s.crds, name)
	for _, w := range s.watches {
		w <- name
	}
}

func (s *apiServer) putRole(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	role := rbacv1.ClusterRole{}
	if err == nil {
		err = runtime.DecodeInto(serializer.NewCodecFactory(member.Scheme).UniversalDeserializer(), body, &role)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		refuse(w, apierrors.NewBadRequest(err.Error()))
		return
	case s.refuses > 0:
		s.refuses--
		refuse(w, apierrors.NewConflict(schema.GroupResource{Resource: "clusterroles"}, role.Name, io.EOF))
		return
	}
	s.role = role
	s.changed <- struct{}{}
	answer(w, role)
}

// joinWrites writes the role as a join does: with the API groups that the join has read from the member.
func (s *apiServer) joinWrites(groups ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.role.Rules = nil
	for _, g := range groups {
		s.role.Rules = append(s.role.Rules, rbacv1.PolicyRule{APIGroups: []string{g}, Resources: []string{"*"}, Verbs: []string{"get", "list", "watch"}})
	}
}

// groups returns the API groups that the collector's role allows to read.
func (s *apiServer) groups() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var groups []string
	for _, rule := range s.role.Rules {
		groups = append(groups, rule.APIGroups...)
	}
	slices.Sort(groups)
	return groups
}

func (s *apiServer) written() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.writes)
}
