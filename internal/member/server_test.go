// SPDX-License-Identifier: Apache-2.0

package member

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const (
	membershipPath = "/apis/" + v1alpha1.Group + "/v1alpha1/memberships/self"
	systemPath     = "/api/v1/namespaces/kube-system"
)

var thisHost = Host{UID: "host-uid"}

// apiServer is a member's API server. A test sets its answer for each path.
type apiServer struct {
	*httptest.Server

	mu      sync.Mutex
	answers map[string]any // *apierrors.StatusError, or an object
	date    string
	asked   []string
}

// newAPIServer starts the API server of a member that thisHost joined under the name east.
func newAPIServer(t *testing.T) *apiServer {
	t.Helper()
	s := &apiServer{answers: map[string]any{
		membershipPath: membership("host-uid", "east"),
		"/version":     version.Info{GitVersion: "v1.36.3"},
		systemPath:     kubeSystem("member-uid"),
		"/api":         metav1.APIVersions{Versions: []string{"v1"}},
		"/api/v1":      resources("v1", metav1.APIResource{Name: "configmaps", Kind: "ConfigMap", Namespaced: true}),
		"/apis":        metav1.APIGroupList{Groups: []metav1.APIGroup{group("apps"), group("shop.example.com")}},
		"/apis/apps":   group("apps"),
		"/apis/apps/v1": resources("apps/v1",
			metav1.APIResource{Name: "deployments", Kind: "Deployment", Namespaced: true}),
		"/apis/shop.example.com": group("shop.example.com"),
		"/apis/shop.example.com/v1": resources("shop.example.com/v1",
			metav1.APIResource{Name: "crates", Kind: "Crate"}),
	}}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

func membership(hostUID types.UID, name string) v1alpha1.Membership {
	return v1alpha1.Membership{
		Spec: v1alpha1.MembershipSpec{
			Host: v1alpha1.HostIdentity{UID: hostUID, Name: "prod"}, ClusterName: name, Grants: []string{"core"},
		},
		Status: v1alpha1.MembershipStatus{RenewTime: metav1.NewMicroTime(now)},
	}
}

func kubeSystem(uid types.UID) metav1.PartialObjectMetadata {
	return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: uid}}
}

// becomes makes the endpoint lead to a clone of the member. Its objects are equal, but its API server gave them
// other uids.
func (s *apiServer) becomes(uid types.UID) {
	clone := membership("host-uid", "east")
	clone.UID = "membership-of-" + uid
	s.says(systemPath, kubeSystem(uid))
	s.says(membershipPath, clone)
}

func group(name string) metav1.APIGroup {
	v := metav1.GroupVersionForDiscovery{GroupVersion: name + "/v1", Version: "v1"}
	return metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: name,
		Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}
}

func resources(groupVersion string, all ...metav1.APIResource) metav1.APIResourceList {
	for i := range all {
		all[i].Verbs = []string{"get", "list"}
	}
	return metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion,
		APIResources: all}
}

func (s *apiServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	s.mu.Lock()
	answer, known := s.answers[req.URL.Path]
	s.asked = append(s.asked, req.URL.Path)
	if s.date != "" {
		w.Header().Set("Date", s.date)
	}
	s.mu.Unlock()
	if !known {
		answer = apierrors.NewNotFound(schema.GroupResource{Resource: "any"}, req.URL.Path)
	}
	code := http.StatusOK
	if refusal, ok := answer.(*apierrors.StatusError); ok {
		refusal.ErrStatus.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		answer, code = refusal.ErrStatus, int(refusal.ErrStatus.Code)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(answer) // the client reports an incomplete response
}

// says sets the answer to all later requests for a path.
func (s *apiServer) says(path string, answer any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers[path] = answer
}

// showsClock sets the time in the header Date of all later responses.
func (s *apiServer) showsClock(at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.date = at.UTC().Format(http.TimeFormat)
}

// times returns how often a path was requested.
func (s *apiServer) times(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, p := range s.asked {
		if p == path {
			n++
		}
	}
	return n
}

func (s *apiServer) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.asked)
}

func (s *apiServer) config(token string) *rest.Config {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	return &rest.Config{Host: s.URL, BearerToken: token, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: ca}}
}

// configAs returns a configuration with this user agent. Another user agent needs another connection.
func (s *apiServer) configAs(agent string) *rest.Config {
	config := s.config("t")
	config.UserAgent = agent
	return config
}

func connected(t *testing.T, config *rest.Config) *Conn {
	t.Helper()
	conn, err := Connect("east", config)
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
