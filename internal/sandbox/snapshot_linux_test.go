// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// remembers reports whether the host has a ConfigMap with this name.
func remembers(t *testing.T, host *kubernetes.Clientset, name string) bool {
	t.Helper()
	_, err := host.CoreV1().ConfigMaps(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

func TestTheHostForgetsWhatCameAfterTheSnapshot(t *testing.T) {
	if testing.Short() {
		t.Skip("starts control planes")
	}
	o := Options{Name: ownName(t), Bare: true}
	t.Cleanup(func() {
		if _, err := Down(context.Background(), o.Name); err != nil {
			t.Error(err)
		}
	})
	s := up(t, o)
	config, err := s.RESTConfig(HostName)
	if err != nil {
		t.Fatal(err)
	}
	host := kubernetes.NewForConfigOrDie(config)
	note := func(name string) {
		t.Helper()
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := host.CoreV1().ConfigMaps(namespace).Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), "host.tar.gz")
	note("before")
	if err := s.Snapshot(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	note("after")

	if err := s.Snapshot(t.Context(), file); err == nil || !strings.Contains(err.Error(), "give the name of a new file") {
		t.Errorf("the second snapshot replaced the first, or the error is another: %v", err)
	}
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("no snapshot"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Restore(t.Context(), garbage); err == nil || !remembers(t, host, "after") {
		t.Errorf("a file that is no snapshot was restored: %v", err)
	}

	if err := s.Restore(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	if !remembers(t, host, "before") || remembers(t, host, "after") {
		t.Errorf("after the restore the host has ConfigMap before: %v, want true; ConfigMap after: %v, want false", remembers(t, host, "before"), remembers(t, host, "after"))
	}
	note("since")

	// Make the state that a restore leaves if the machine stops between its two renames.
	if err := s.Stop(t.Context(), HostName); err != nil {
		t.Fatal(err)
	}
	spec, err := s.Cluster(HostName)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(spec.Data(), spec.Data()+suffixBefore); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context(), HostName); err != nil {
		t.Fatal(err)
	}
	if !remembers(t, host, "since") {
		t.Error("the host lost its data after a restore that was interrupted between its two renames")
	}
	left, err := filepath.Glob(spec.Data() + "*")
	if err != nil || len(left) != 1 {
		t.Errorf("the restore left other folders beside etcd's data: %v, %v", left, err)
	}
}
