// SPDX-License-Identifier: Apache-2.0

package managedfields

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
)

// fieldsOf returns a managedFields entry. Its operation is Apply for Fairlead's field manager, and Update for any other
// manager. at is the time of the entry in seconds since 1970; 0 means that the entry has no time.
func fieldsOf(manager string, at int64, fields string, change ...func(*metav1.ManagedFieldsEntry)) metav1.ManagedFieldsEntry {
	e := metav1.ManagedFieldsEntry{
		Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(fields),
	}
	if at > 0 {
		e.Time = &metav1.Time{Time: time.Unix(at, 0)}
	}
	if manager == v1alpha1.FieldManager {
		e.Operation = metav1.ManagedFieldsOperationApply
	}
	for _, f := range change {
		f(&e)
	}
	return e
}

func ofStatus(e *metav1.ManagedFieldsEntry) { e.Subresource = "status" }
func ofScale(e *metav1.ManagedFieldsEntry)  { e.Subresource = "scale" }

func TestLastWriter(t *testing.T) {
	const replicas = `{"f:spec":{"f:replicas":{}}}`
	ours := fieldsOf(v1alpha1.FieldManager, 100, `{"f:spec":{"f:paused":{}}}`)
	tests := map[string]struct {
		entries []metav1.ManagedFieldsEntry
		manager string
		fields  []string
	}{
		"no other writer": {entries: []metav1.ManagedFieldsEntry{ours}},
		"a writer after us": {
			entries: []metav1.ManagedFieldsEntry{ours, fieldsOf("kubectl-edit", 101, replicas)},
			manager: "kubectl-edit", fields: []string{".spec.replicas"},
		},
		"a writer in the same second": {
			entries: []metav1.ManagedFieldsEntry{fieldsOf("kubectl-edit", 100, replicas), ours},
			manager: "kubectl-edit", fields: []string{".spec.replicas"},
		},
		"a writer before us does not count": {
			entries: []metav1.ManagedFieldsEntry{fieldsOf("kubectl-edit", 99, replicas), ours},
		},
		"the last of several": {
			entries: []metav1.ManagedFieldsEntry{fieldsOf("b", 103, replicas), ours, fieldsOf("a", 102, `{"f:data":{}}`)},
			manager: "b", fields: []string{".spec.replicas"},
		},
		"a controller that writes the status does not count": {
			entries: []metav1.ManagedFieldsEntry{ours, fieldsOf("kcm", 105, `{"f:status":{"f:replicas":{}}}`, ofStatus)},
		},
		"an autoscaler that writes through the scale": {
			entries: []metav1.ManagedFieldsEntry{ours, fieldsOf("hpa", 105, replicas, ofScale)},
			manager: "hpa", fields: []string{".spec.replicas"},
		},
		"the newest of all where our entry was cleared": {
			entries: []metav1.ManagedFieldsEntry{fieldsOf("mallory", 5, replicas)},
			manager: "mallory", fields: []string{".spec.replicas"},
		},
		"list items by their keys": {
			entries: []metav1.ManagedFieldsEntry{ours, fieldsOf("kubectl-set", 101,
				`{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}}}`)},
			manager: "kubectl-set", fields: []string{`.spec.containers[name="web"].image`},
		},
		"a manager whose fields cannot be read": {
			entries: []metav1.ManagedFieldsEntry{ours, fieldsOf("odd", 101, `{"f:spec":`)},
			manager: "odd",
		},
		"a manager whose name has control characters": {
			entries: []metav1.ManagedFieldsEntry{ours, fieldsOf("\x1b[2Jodd", 101, replicas)},
			manager: "[2Jodd", fields: []string{".spec.replicas"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			manager, fields := LastWriter(test.entries)
			if diff := cmp.Diff(test.manager, manager); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.fields, fields); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRenderingAppliedNeedsTheManagerToOwnTheAnnotation(t *testing.T) {
	const marked = `{"f:metadata":{"f:annotations":{"f:federation.fairlead.dev/rendering":{}}}}`
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    int64
	}{
		"our apply":                               {entries: []metav1.ManagedFieldsEntry{fieldsOf(v1alpha1.FieldManager, 100, marked)}, want: 100},
		"our apply, and a later client":           {entries: []metav1.ManagedFieldsEntry{fieldsOf("kubectl", 200, `{"f:data":{}}`), fieldsOf(v1alpha1.FieldManager, 100, marked)}, want: 100},
		"another client wrote the annotation":     {entries: []metav1.ManagedFieldsEntry{fieldsOf(v1alpha1.FieldManager, 100, `{"f:data":{}}`), fieldsOf("kubectl", 200, marked)}},
		"an update under our name":                {entries: []metav1.ManagedFieldsEntry{fieldsOf(v1alpha1.FieldManager, 100, marked, func(e *metav1.ManagedFieldsEntry) { e.Operation = metav1.ManagedFieldsOperationUpdate })}},
		"an entry without a time":                 {entries: []metav1.ManagedFieldsEntry{fieldsOf(v1alpha1.FieldManager, 0, marked)}},
		"managedFields that a client has cleared": {},
	} {
		t.Run(name, func(t *testing.T) {
			if got := RenderingApplied(test.entries); got != test.want {
				t.Errorf("%d, want %d", got, test.want)
			}
		})
	}
}

func TestLentDigest(t *testing.T) {
	const (
		whole   = `{"f:spec":{"f:accessModes":{},"f:resources":{"f:requests":{"f:storage":{}}}}}`
		grown   = `{"f:spec":{"f:accessModes":{}}}`
		changed = `{"f:spec":{"f:volumeMode":{}}}`
	)
	recorded := digest.Of([]byte(whole))
	tests := map[string]struct {
		fields string
		want   bool
	}{
		"a claim that was expanded has the recorded digest": {fields: grown, want: true},
		"a claim that lost another field does not":          {fields: changed},
		"a claim that was not expanded has no such digest":  {fields: whole},
		"a claim whose fields cannot be read has none":      {fields: `{"f:spec":`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := LentDigest([]metav1.ManagedFieldsEntry{fieldsOf(v1alpha1.FieldManager, 1, test.fields)})
			if (got == recorded) != test.want {
				t.Errorf("LentDigest is %q, recorded is %q", got, recorded)
			}
		})
	}
}

func FuzzManagedFields(f *testing.F) {
	f.Add("kubectl", []byte(`{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{".":{},"f:image":{}}}}}`))
	f.Add("a\x00b", []byte(`{"f:data":{"f:\u202e":{},"v:\"x\"":{},"i:3":{}}}`))
	f.Add("deep", []byte(strings.Repeat(`{"f:a":`, 500)+`{}`+strings.Repeat(`}`, 500)))
	f.Fuzz(func(t *testing.T, manager string, raw []byte) {
		entries := []metav1.ManagedFieldsEntry{
			fieldsOf(v1alpha1.FieldManager, 100, string(raw)), fieldsOf(manager, 101, string(raw)),
		}
		_ = LentDigest(entries)
		manager, fields := LastWriter(entries)
		if len(manager) > maxManagerName || !utf8.ValidString(manager) {
			t.Fatalf("manager %q", manager)
		}
		if len(fields) > maxFields {
			t.Fatalf("%d fields", len(fields))
		}
		for _, field := range fields {
			if field == "" || len(field) > maxFieldPath || !utf8.ValidString(field) {
				t.Fatalf("field %q", field)
			}
		}
	})
}
