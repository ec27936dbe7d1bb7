// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// placedElsewhere is the good wrapper with another placement. The placement is not part of a revision.
var placedElsewhere = strings.Replace(good, "names: [east]", "names: [west]", 1)

// changed is the good wrapper with another object.
var changed = strings.Replace(good, "metadata: {name: a}}]", "metadata: {name: b}}]", 1)

// attested returns the value of AnnotationAuthor that names alice as the author of the good wrapper.
func attested(t *testing.T) string {
	t.Helper()
	r, ok := judgedOf(t, request(t, admissionv1.Create, "Federated", of(good, ""), "").Object).content()
	if !ok {
		t.Fatal("the wrapper cannot be read")
	}
	return history(t).Attest(v1alpha1.KindFederated, types.NamespacedName{Namespace: "shop", Name: "web"}, r, "alice")
}

func judgedOf(t *testing.T, object []byte) *judged {
	t.Helper()
	j, err := read(object)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// patched returns the object of a request after the patch in the answer was applied to it.
func patched(t *testing.T, q *question, answer *admissionv1.AdmissionResponse) *judged {
	t.Helper()
	if !answer.Allowed {
		t.Fatalf("refused: %+v", answer.Result)
	}
	object := []byte(q.Object)
	if len(answer.Patch) > 0 {
		patch, err := jsonpatch.DecodePatch(answer.Patch)
		if err != nil {
			t.Fatal(err)
		}
		if object, err = patch.Apply(object); err != nil {
			t.Fatalf("applying %s: %v", answer.Patch, err)
		}
	}
	return judgedOf(t, object)
}

func TestTheAnnotationNamesTheUserWhoWroteTheContent(t *testing.T) {
	alices, forged := attested(t), strings.Replace(attested(t), "alice", "mallory", 1)
	longest := `"` + strings.Repeat("b", 252) + "…"
	with := func(value string) string {
		return `, annotations: {example.com/other: mine, federation.fairlead.dev/author: "` + value + `"}`
	}
	for name, test := range map[string]struct {
		operation   admissionv1.Operation
		object, old string
		user        string
		author      string // of the new content, as the manager reads it from the patched object
		unchanged   bool   // the answer has no patch
	}{
		"a new wrapper": {admissionv1.Create, of(good, ""), "", "bob", "bob", false},
		"a new wrapper with the annotation of another":   {admissionv1.Create, of(good, with(alices)), "", "bob", "bob", false},
		"a change of an object":                          {admissionv1.Update, of(changed, with(alices)), of(good, with(alices)), "bob", "bob", false},
		"a change by a client that drops the annotation": {admissionv1.Update, of(changed, ""), of(good, with(alices)), "bob", "bob", false},
		"a change with a forged annotation":              {admissionv1.Update, of(changed, with(forged)), of(good, with(alices)), "bob", "bob", false},
		"a change by an account": {admissionv1.Update, of(changed, ""), of(good, ""), "system:serviceaccount:argocd:controller",
			"system:serviceaccount:argocd:controller", false},
		"a change of the placement":                                      {admissionv1.Update, of(placedElsewhere, with(alices)), of(good, with(alices)), "bob", "alice", true},
		"a new finalizer":                                                {admissionv1.Update, of(good, with(alices)+", finalizers: [a.b/c]"), of(good, with(alices)), "root", "alice", true},
		"an edit of the annotation alone":                                {admissionv1.Update, of(good, with(forged)), of(good, with(alices)), "mallory", "alice", false},
		"an edit that removes the annotation":                            {admissionv1.Update, of(good, ""), of(good, with(alices)), "mallory", "alice", false},
		"an annotation on content that nobody is known to have written":  {admissionv1.Update, of(good, with(forged)), of(good, ""), "mallory", "", false},
		"a label on content that nobody is known to have written":        {admissionv1.Update, of(good, ", labels: {a: b}"), of(good, ""), "bob", "", true},
		"a change of what was written while the webhook was not called":  {admissionv1.Update, of(good, with(alices)), of(changed, with(alices)), "bob", "bob", false},
		"a user whose name acts on a terminal":                           {admissionv1.Update, of(changed, ""), of(good, ""), "bob\x1b[2J", `"bob\x1b[2J"`, false},
		"a user whose name looks like another's":                         {admissionv1.Update, of(changed, ""), of(good, ""), "al\u200bice", `"al\u200bice"`, false},
		"a user whose name is too long":                                  {admissionv1.Update, of(changed, ""), of(good, ""), strings.Repeat("b", 300), longest, false},
		"a user without a name":                                          {admissionv1.Update, of(changed, with(alices)), of(good, with(alices)), "", "", false},
		"a wrapper that is being deleted":                                {admissionv1.Update, of(changed, deleting), of(good, deleting), "bob", "", true},
		"a change of a wrapper whose earlier spec cannot be read":        {admissionv1.Update, of(good, ""), strings.Replace(of(good, ""), "objects: [", "objects: [7, ", 1), "bob", "bob", false},
		"the first change of a wrapper that an earlier version admitted": {admissionv1.Update, of(changed, ""), of(good, ""), "bob", "bob", false},
	} {
		t.Run(name, func(t *testing.T) {
			q := request(t, test.operation, "Federated", test.object, test.old)
			q.UserInfo.Username = test.user
			answer := mutation{history(t)}.mutate(t.Context(), q)
			if (len(answer.Patch) == 0) != test.unchanged {
				t.Errorf("the patch is %s", answer.Patch)
			}
			got := patched(t, q, answer)
			if author := authorOf(t, got); author != test.author {
				t.Errorf("the author is %q, want %q; the annotation is %q", author, test.author, got.Metadata.Annotations[v1alpha1.AnnotationAuthor])
			}
			if other := judgedOf(t, q.Object).Metadata.Annotations["example.com/other"]; got.Metadata.Annotations["example.com/other"] != other {
				t.Errorf("the other annotations are %v", got.Metadata.Annotations)
			}
		})
	}
}

// authorOf returns the author of a wrapper as the manager reads it.
func authorOf(t *testing.T, j *judged) string {
	t.Helper()
	r, ok := j.content()
	if !ok {
		t.Fatal("the wrapper cannot be read")
	}
	return history(t).Author(v1alpha1.KindFederated, types.NamespacedName{Namespace: "shop", Name: "web"}, r, j.Metadata.Annotations[v1alpha1.AnnotationAuthor])
}

// The webhook cannot decode these specs. It accepts them without an author, because the API server's schema refuses them
// with a better message.
func TestASpecThatCannotBeReadHasNoAuthor(t *testing.T) {
	for name, spec := range map[string]string{
		"a field of another type": `{"placement":{"clusters":["east"]}}`,
		"an object that is none":  `{"objects":[7]}`,
		"no spec":                 `null`,
	} {
		t.Run(name, func(t *testing.T) {
			q := request(t, admissionv1.Create, "Federated", of(good, ", finalizers: [federation.fairlead.dev/members], annotations: {federation.fairlead.dev/author: mallory}"), "")
			object := map[string]any{}
			if err := kjson.Unmarshal(q.Object, &object); err != nil {
				t.Fatal(err)
			}
			object["spec"] = json.RawMessage(spec)
			var err error
			if q.Object, err = json.Marshal(object); err != nil {
				t.Fatal(err)
			}
			q.UserInfo.Username = "bob"
			value, there := patched(t, q, mutation{history(t)}.mutate(t.Context(), q)).Metadata.Annotations[v1alpha1.AnnotationAuthor]
			if spec == "null" { // a null spec has empty content, and bob is its author
				there = value == "" || strings.Contains(value, "mallory")
			}
			if there {
				t.Errorf("the annotation is %q", value)
			}
		})
	}
}
