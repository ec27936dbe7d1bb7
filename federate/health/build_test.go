// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// now is the time at which all tests judge. made is the creation time of the objects, unless a test sets another.
var (
	now  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	made = now.Add(-time.Hour)
)

// ago returns the time d before now, in the form of a Kubernetes timestamp.
func ago(d time.Duration) string { return now.Add(-d).UTC().Format(time.RFC3339) }

// object decodes an object from YAML.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if err := u.UnmarshalJSON(raw); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if u.GetCreationTimestamp() == (metav1.Time{}) {
		if err := unstructured.SetNestedField(u.Object, made.Format(time.RFC3339), "metadata", "creationTimestamp"); err != nil {
			t.Fatal(err)
		}
	}
	return u
}
