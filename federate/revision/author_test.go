// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"strings"
	"testing"
	"unicode"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const mapSpec = `objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {color: blue}}]`

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

func TestAnAuthorCountsForTheAttestedContentOnly(t *testing.T) {
	key, written := historyKey(t, 1), revisionOf(t, mapSpec)
	value := key.Attest(v1alpha1.KindFederated, web, written, "alice")
	reordered := revisionOf(t, `objects: [{kind: ConfigMap, apiVersion: v1, data: {color: blue}, metadata: {name: a}}]`)
	renamed := strings.Replace(value, "alice", "mallory", 1)
	for name, tc := range map[string]struct {
		key     *HistoryKey
		kind    v1alpha1.WrapperKind
		wrapper types.NamespacedName
		content Revision
		value   string
		want    string
	}{
		"the same content":                  {key, v1alpha1.KindFederated, web, written, value, "alice"},
		"the same content in another order": {key, v1alpha1.KindFederated, web, reordered, value, "alice"},
		"other content":                     {key, v1alpha1.KindFederated, web, revisionOf(t, strings.Replace(mapSpec, "blue", "red", 1)), value, ""},
		"another wrapper":                   {key, v1alpha1.KindFederated, types.NamespacedName{Namespace: "shop", Name: "db"}, written, value, ""},
		"another namespace":                 {key, v1alpha1.KindFederated, types.NamespacedName{Namespace: "stage", Name: "web"}, written, value, ""},
		"another kind":                      {key, v1alpha1.KindClusterFederated, web, written, value, ""},
		"another name with its digest":      {key, v1alpha1.KindFederated, web, written, renamed, ""},
		"another key":                       {historyKey(t, 2), v1alpha1.KindFederated, web, written, value, ""},
		"no key":                            {nil, v1alpha1.KindFederated, web, written, value, ""},
		"no value":                          {key, v1alpha1.KindFederated, web, written, "", ""},
		"a name alone":                      {key, v1alpha1.KindFederated, web, written, "mallory", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.key.Author(tc.kind, tc.wrapper, tc.content, tc.value); got != tc.want {
				t.Errorf("the author is %q, want %q", got, tc.want)
			}
		})
	}
}

// The attestation and the names of ControllerRevisions must use different keys. Otherwise a reader could copy the
// digest from the name of a ControllerRevision into a forged AnnotationAuthor.
func TestAnAttestationHasAKeyOfItsOwn(t *testing.T) {
	if k := historyKey(t, 1); len(k.authors) == 0 || string(k.authors) == string(k.names) {
		t.Errorf("the key of the authors has %d bytes, or is that of the names", len(k.authors))
	}
}

func TestWhichNamesAreAttested(t *testing.T) {
	key, r := historyKey(t, 1), revisionOf(t, mapSpec)
	for name, tc := range map[string]struct {
		key  *HistoryKey
		in   types.NamespacedName
		user string
		want bool
	}{
		"a person":                    {key, web, "alice@example.com", true},
		"an account":                  {key, web, "system:serviceaccount:argocd:controller", true},
		"a name with a space":         {key, web, "Alice Doe", true},
		"a wrapper without namespace": {key, types.NamespacedName{Name: "web"}, "alice", true},
		"no name":                     {key, web, "", false},
		"the longest name":            {key, web, strings.Repeat("a", MaxAuthor), true},
		"a name that is too long":     {key, web, strings.Repeat("a", MaxAuthor+1), false},
		"an escape sequence":          {key, web, "alice\x1b[2J", false},
		"a line break":                {key, web, "alice\nroot", false},
		"a bidirectional override":    {key, web, "alice\u202e", false},
		"a name that is no UTF-8":     {key, web, "alice\xff", false},
		// With generateName, the API server sets the name of the wrapper only after admission.
		"a wrapper without a name": {key, types.NamespacedName{Namespace: "shop"}, "alice", false},
		"no key":                   {nil, web, "alice", false},
	} {
		t.Run(name, func(t *testing.T) {
			value := tc.key.Attest(v1alpha1.KindFederated, tc.in, r, tc.user)
			if (value != "") != tc.want {
				t.Fatalf("the value is %q", value)
			}
			if got := tc.key.Author(v1alpha1.KindFederated, tc.in, r, value); tc.want && got != tc.user {
				t.Errorf("the author is %q, want %q", got, tc.user)
			}
		})
	}
}

// Any client that can write a wrapper can write any text into its AnnotationAuthor.
func FuzzAuthor(f *testing.F) {
	key, err := NewHistoryKey(make([]byte, HistoryKeyBytes))
	if err != nil {
		f.Fatal(err)
	}
	r := Revision{Data: []byte(`{"objects":[]}`)}
	for _, seed := range []string{key.Attest(v1alpha1.KindFederated, web, r, "alice"), attestation + strings.Repeat("0", 64) + " bob",
		attestation + strings.Repeat("A", 64) + " bob", attestation + " ", "alice", "", attestation + strings.Repeat("0", 64) + " a\x1b]0;x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		a, ok := parseAuthor(value)
		if !ok {
			if got := key.Author(v1alpha1.KindFederated, web, r, value); got != "" {
				t.Fatalf("%q is no value, but names %q", value, got)
			}
			return
		}
		if a.String() != value {
			t.Fatalf("%q is read as %q", value, a)
		}
		if len(a.name) > MaxAuthor || strings.ContainsFunc(a.name, unicode.IsControl) {
			t.Fatalf("%q is no name to print", a.name)
		}
		if got := key.Author(v1alpha1.KindFederated, web, r, value); got != "" && value != key.Attest(v1alpha1.KindFederated, web, r, got) {
			t.Fatalf("%q counts, and the key did not make it", value)
		}
	})
}
