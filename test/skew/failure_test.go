// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// failed is a provider of one member whose logs can be read.
type failed struct{ provider.Provider }

func (failed) MemberNames() []string             { return []string{"member-1"} }
func (failed) ManagerLog(context.Context) []byte { return []byte("a line of the manager") }
func (failed) Export(_ context.Context, dir string) error {
	return os.WriteFile(filepath.Join(dir, "exported"), nil, 0o600)
}

func TestAfterAFailureTheStateOfTheFleetIsSaved(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	host := fake.NewClientBuilder().WithScheme(scheme).WithObjects(&v1alpha1.Federated{ObjectMeta: metav1.ObjectMeta{Namespace: "skew", Name: "web"}}).Build()
	dir := filepath.Join(t.TempDir(), "failure")
	if err := os.MkdirAll(filepath.Join(dir, "of-an-earlier-run"), 0o700); err != nil {
		t.Fatal(err)
	}
	err := save(t.Context(), dir, errors.New("stage 2 lost an object"), failed{}, func(name string) (client.Reader, error) {
		if name != provider.Host {
			return nil, errors.New("no route to the member")
		}
		return host, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for file, words := range map[string]string{
		"failure.txt": "stage 2 lost an object\n", "manager.log": "a line of the manager", "host-federateds.yaml": "name: web", "host-clusterfederateds.yaml": "items: []",
		"host-memberclusters.yaml": "items: []", "member-1-deliveries.yaml": "# listing *v1alpha1.DeliveryList on member-1: no route to the member", "exported": "",
	} {
		content, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(content), words) {
			t.Errorf("%s: want %q, got %q, %v", file, words, content, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "of-an-earlier-run")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("files of an earlier run are left: %v", err)
	}
}
