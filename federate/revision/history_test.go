// SPDX-License-Identifier: Apache-2.0

package revision

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const secretSpec = `objects: [{apiVersion: v1, kind: Secret, metadata: {name: s}, stringData: {password: hunter2}}]`

func historyKey(t testing.TB, first byte) *HistoryKey {
	t.Helper()
	k, err := NewHistoryKey(append([]byte{first}, make([]byte, HistoryKeyBytes)...))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestWhichRevisionsHoldASecret(t *testing.T) {
	const none = `objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]`
	for name, tc := range map[string]struct {
		spec string
		want bool
	}{
		"no Secret":                        {none, false},
		"a Secret":                         {secretSpec, true},
		"a Secret of another group":        {`objects: [{apiVersion: example.com/v1, kind: Secret, metadata: {name: s}}]`, false},
		"a Secret in a List":               {`objects: [{apiVersion: v1, kind: List, metadata: {name: l}, items: [{apiVersion: v1, kind: Secret}]}]`, true},
		"a Secret in a template":           {`objects: [{apiVersion: template.openshift.io/v1, kind: Template, metadata: {name: l}, objects: [{apiVersion: v1, kind: Secret}]}]`, true},
		"an override of a Secret":          {none + "\noverrides: [{target: {kind: Secret}, patch: [{op: add, path: /data/x, value: eA==}]}]", true},
		"an override that names the group": {none + "\noverrides: [{target: {group: '', kind: Secret}, merge: {data: {x: eA==}}}]", true},
		"an override of another group":     {none + "\noverrides: [{target: {group: example.com, kind: Secret}, merge: {data: {x: eA==}}}]", false},
		"a role that names the kind":       {`objects: [{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: r}, rules: [{resources: [secrets]}]}]`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := revisionOf(t, tc.spec).HoldsSecret; got != tc.want {
				t.Errorf("holds a Secret: %v", got)
			}
		})
	}
}

func TestARevisionWithASecretIsEncryptedAndBoundToItsWrapper(t *testing.T) {
	key, plain := historyKey(t, 1), revisionOf(t, secretSpec)
	stored, err := key.Encode(plain, "uid", "fed-web-1")
	if err != nil || bytes.Contains(stored, []byte("hunter2")) || bytes.Contains(stored, []byte("objects")) {
		t.Fatalf("stored as %s, %v", stored, err)
	}
	if again, _ := key.Encode(plain, "uid", "fed-web-1"); bytes.Equal(stored, again) {
		t.Error("equal contents are stored alike: the nonce is not random")
	}
	got, err := key.Decode(stored, "uid", "fed-web-1")
	if err != nil || !bytes.Equal(got.Data, plain.Data) || got.Hash != plain.Hash || !got.HoldsSecret {
		t.Errorf("read as %+v, %v", got, err)
	}
	for name, tc := range map[string]struct {
		key  *HistoryKey
		uid  types.UID
		name string
		want string
	}{
		"another wrapper": {key, "other", "fed-web-1", "it was changed, or belongs to another wrapper or another name"},
		"another name":    {key, "uid", "fed-web-2", "it was changed, or belongs to another wrapper or another name"},
		"another key":     {historyKey(t, 2), "uid", "fed-web-1", "it was encrypted with another key"},
		"no key":          {nil, "uid", "fed-web-1", "it was encrypted with another key"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.key.Decode(stored, tc.uid, tc.name)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), tc.name) {
				t.Errorf("got %v", err)
			}
			if lost := errors.Is(err, ErrOtherKey); lost != (tc.key != key) {
				t.Errorf("the key is lost: %v", lost)
			}
		})
	}
	for i := range stored { // one byte was changed: Decode must return an error, or the unchanged content, and must not panic
		broken := bytes.Clone(stored)
		broken[i] ^= 1
		if got, err := key.Decode(broken, "uid", "fed-web-1"); err == nil && !bytes.Equal(got.Data, plain.Data) {
			t.Fatalf("byte %d changed: read as %s", i, got.Data)
		}
	}
	if _, err := (*HistoryKey)(nil).Encode(plain, "uid", "fed-web-1"); err == nil {
		t.Error("without a key the revision is written unencrypted")
	}
}

func TestARevisionWithoutASecretIsStoredAsItIs(t *testing.T) {
	key, r := historyKey(t, 1), revisionOf(t, revisionBase)
	stored, err := key.Encode(r, "uid", "n")
	if err != nil || !bytes.Equal(stored, r.Data) {
		t.Fatalf("stored as %s, %v", stored, err)
	}
	if got, err := key.Decode(stored, "uid", "n"); err != nil || got.Hash != r.Hash || got.HoldsSecret {
		t.Errorf("read as %+v, %v", got, err)
	}
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	if got, want := key.Name(v1alpha1.KindFederated, web, r), Name(v1alpha1.KindFederated, "web", r.Hash); got != want {
		t.Errorf("its name is %s, and in an earlier version it was %s", got, want)
	}
}

// If the name did not depend on the key, a reader could guess a value of the Secret and check the guess with the name.
func TestTheNameOfARevisionWithASecretDependsOnTheKey(t *testing.T) {
	r := revisionOf(t, secretSpec)
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	name := historyKey(t, 1).Name(v1alpha1.KindFederated, web, r)
	if name != historyKey(t, 1).Name(v1alpha1.KindFederated, web, r) {
		t.Error("it is not stable")
	}
	others := []string{
		Name(v1alpha1.KindFederated, "web", r.Hash),
		historyKey(t, 2).Name(v1alpha1.KindFederated, web, r),
		historyKey(t, 1).Name(v1alpha1.KindFederated, web, revisionOf(t, strings.Replace(secretSpec, "hunter2", "hunter3", 1))),
	}
	elsewhere := historyKey(t, 1).Name(v1alpha1.KindFederated, types.NamespacedName{Namespace: "other", Name: "web"}, r)
	for _, other := range append(others, elsewhere) {
		if name == other {
			t.Errorf("%s is the name of another too", name)
		}
	}
}

// An API server accepts an object of 1.5 MiB. A revision that fits without encryption must also fit with it.
func TestALargeSecretDoesNotGrowWhenItIsEncrypted(t *testing.T) {
	const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	random, noise := rand.New(rand.NewPCG(1, 2)), make([]byte, 1<<20)
	for i := range noise {
		noise[i] = base64[random.IntN(len(base64))]
	}
	r := revisionOf(t, strings.Replace(secretSpec, "hunter2", string(noise), 1))
	if stored, err := historyKey(t, 1).Encode(r, "uid", "n"); err != nil || len(stored) > len(r.Data)*21/20 {
		t.Errorf("%d bytes are stored as %d (%v)", len(r.Data), len(stored), err)
	}
}
