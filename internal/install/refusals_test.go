// SPDX-License-Identifier: Apache-2.0

package install

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/install/manifests"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

func TestAClusterThatIsTooOldIsRefused(t *testing.T) {
	for found, ok := range map[string]bool{"v1.30.0": true, "v1.36.3+k3s1": true, "v1.31.4-gke.100": true, "v1.30.0-eks-abc": true, "v1.29.9": false, "v1.9.0": false, "nonsense": false} {
		err := checkKubernetes(found)
		if (err == nil) != ok {
			t.Errorf("%s: %v", found, err)
		}
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/version" {
			t.Errorf("a request after the version: %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"major":"1","minor":"29","gitVersion":"v1.29.9"}`))
	}))
	defer server.Close()
	_, err := Install(t.Context(), &rest.Config{Host: server.URL}, Options{Image: "r.example/m:v1"}, progress.Discard())
	if err == nil || !strings.Contains(err.Error(), "the cluster is Kubernetes v1.29.9, and a host needs 1.30 or later") {
		t.Errorf("got: %v", err)
	}
}

func TestAVersionIsReplacedOnlyByANewerOne(t *testing.T) {
	for name, tc := range map[string]struct {
		there, installed string
		allow, refused   bool
	}{
		"nothing is there":               {"", "v1.0.0", false, false},
		"an upgrade":                     {"v1.0.0", "v1.1.0", false, false},
		"the same again":                 {"v1.0.0", "v1.0.0", false, false},
		"a downgrade":                    {"v1.1.0", "v1.0.0", false, true},
		"a downgrade that was asked for": {"v1.1.0", "v1.0.0", true, false},
		"a build of an earlier commit":   {"v0.0.0-dev.20260201000000+b", "v0.0.0-dev.20260101000000+a", false, true},
		"a build of a later commit":      {"v0.0.0-dev.20260101000000+a", "v0.0.0-dev.20260201000000+b", false, false},
		"a build after a release":        {"v1.1.0", "v0.0.0-dev.20260201000000+b", false, true},
		"an image with a tag of its own": {"e2e", "v1.0.0", false, false},
		"a hostctl that has no order":    {"v1.0.0", "v0.0.0-dev", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkOrder(tc.there, tc.installed, tc.allow); (err != nil) != tc.refused {
				t.Errorf("got: %v", err)
			}
		})
	}
}

// The version of the host is not known. Only additional fields in the host's CRDs show that the host is newer.
func TestAnInstallationDropsNoStoredFields(t *testing.T) {
	for name, tc := range map[string]struct {
		added string // a field that only the CRD on the host has
		allow bool
		want  string
	}{
		"the same fields":                {},
		"one more field":                 {added: "later", want: "does not know: federateds." + v1alpha1.Group + " later"},
		"a downgrade that was asked for": {added: "later", allow: true},
	} {
		t.Run(name, func(t *testing.T) {
			ours, err := config.CustomResourceDefinition("federateds." + v1alpha1.Group)
			if err != nil {
				t.Fatal(err)
			}
			there := ours.DeepCopy()
			if tc.added != "" {
				version := there.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
				if err := unstructured.SetNestedField(version, "string", "schema", "openAPIV3Schema", "properties", tc.added, "type"); err != nil {
					t.Fatal(err)
				}
			}
			c := fake.NewClientBuilder().WithScheme(cluster.Scheme).WithObjects(there).Build()
			i := &installer{connection: connection{Client: c}, opts: Options{AllowDowngrade: tc.allow, Version: "v0.0.0-dev"}, objects: []*unstructured.Unstructured{ours}}
			var down *DowngradeError
			err = i.checkFields(t.Context())
			if errors.As(err, &down) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %q, got: %v", tc.want, err)
			}
		})
	}
}

func TestValuesThatAreNotKnownAreNotReset(t *testing.T) {
	managers := []appsv1.Deployment{{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: manifests.Manager}}}
	for name, tc := range map[string]struct {
		there  host
		values []byte
		want   error
	}{
		"nothing is there":                     {},
		"a manager without a record":           {there: host{managers: managers}, want: ErrNoRecord},
		"a manager, and the user gives values": {there: host{managers: managers}, values: []byte{}},
		"a manager with a record":              {there: host{managers: managers, record: record{values: []byte{}}}},
	} {
		t.Run(name, func(t *testing.T) {
			i := &installer{there: tc.there, opts: Options{Image: "r.example/m:v1", Values: tc.values}, progress: progress.Discard()}
			if err := i.decide(t.Context()); !errors.Is(err, tc.want) {
				t.Errorf("want %v, got: %v", tc.want, err)
			}
		})
	}
}

func TestTheInstalledVersionComesFromTheRecordOrTheImage(t *testing.T) {
	for ref, want := range map[string]string{"r.example/m:v1.2.0": "v1.2.0", "r.example:5000/m": "", "r.example/m@sha256:00": "", "r.example/m:v1@sha256:" + strings.Repeat("0", 64): "v1"} {
		if got := imageTag(ref); got != want {
			t.Errorf("%s: %q", ref, got)
		}
	}
	if got := (host{record: record{version: "v1.0.0"}}).version(); got != "v1.0.0" {
		t.Error(got)
	}
}
