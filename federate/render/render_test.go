// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

func spec(t testing.TB, text string) *v1alpha1.WrapperSpec {
	t.Helper()
	var s v1alpha1.WrapperSpec
	if err := yaml.Unmarshal([]byte(text), &s); err != nil {
		t.Fatalf("the test's spec: %v", err)
	}
	return &s
}

func renderer(t testing.TB, s *v1alpha1.WrapperSpec, namespace string) *Renderer {
	t.Helper()
	r, err := New(s, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rendering(t testing.TB, r *Renderer, m selection.Member) *Rendering {
	t.Helper()
	out, err := r.For(m)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fleet returns n members, which belong to three clouds in turn.
func fleet(n int) []selection.Member {
	members := make([]selection.Member, n)
	for i := range members {
		members[i] = selection.Member{
			Name:   fmt.Sprintf("member-%04d", i),
			Labels: map[string]string{"cloud": []string{"aws", "gcp", "onprem"}[i%3], "zone": fmt.Sprint(i % 7)},
		}
	}
	return members
}

const shop = `
objects:
- {kind: ConfigMap, apiVersion: v1, metadata: {name: settings}, data: {z: "<a> & b", a: "1"}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop, annotations: {federation.fairlead.dev/keep: "true"}}, spec: {}}
`

func TestObjectsAreCanonicalAndInTheWrappersNamespace(t *testing.T) {
	got := rendering(t, renderer(t, spec(t, shop), "shop"), selection.Member{Name: "east"})
	var lines []string
	for _, o := range got.Objects {
		lines = append(lines, o.Namespace+" "+o.String()+" "+o.Keep+" "+string(o.JSON))
	}
	want := []string{
		`shop ConfigMap settings  {"apiVersion":"v1","data":{"a":"1","z":"<a> & b"},"kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop"}}`,
		`shop PersistentVolumeClaim data true {"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"annotations":{"federation.fairlead.dev/keep":"true"},"name":"data","namespace":"shop"},"spec":{}}`,
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestClusterScopedObjectsStayWithoutNamespace(t *testing.T) {
	s := spec(t, `objects: [{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: p}]`)
	got := rendering(t, renderer(t, s, ""), selection.Member{Name: "east"})
	want := `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"fast"},"provisioner":"p"}`
	if diff := cmp.Diff(want, string(got.Objects[0].JSON)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNewRefusesABadSpec(t *testing.T) {
	for name, tc := range map[string]struct{ spec, namespace, want string }{
		"another namespace":     {"objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: kube-system}}]", "shop", `reading objects[0]: ConfigMap a has metadata.namespace "kube-system": the objects of a wrapper go into its own namespace, shop`},
		"a namespace in a cfed": {"objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}}]", "", `reading objects[0]: ConfigMap a has metadata.namespace "b": a ClusterFederated holds cluster-scoped objects`},
		"a nameless object":     {"objects: [{apiVersion: v1, kind: ConfigMap}]", "shop", "reading objects[0]: the object needs apiVersion, kind and metadata.name"},
		"a path that is none":   {"objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}]\noverrides: [{target: {kind: ConfigMap}, patch: [{op: remove, path: a}]}]", "shop", "reading overrides: overrides[0].patch[0]: reading it: path: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(spec(t, tc.spec), tc.namespace)
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got  %v\nwant %s", err, tc.want)
			}
		})
	}
}

const perCloud = shop + `
overrides:
- {clusters: {selectors: [{matchLabels: {cloud: aws}}]}, target: {kind: PersistentVolumeClaim}, merge: {spec: {storageClassName: gp3}}}
- {clusters: {selectors: [{matchLabels: {cloud: gcp}}]}, target: {kind: PersistentVolumeClaim}, merge: {spec: {storageClassName: pd}}}
- {clusters: {selectors: [{matchLabels: {cloud: onprem}}]}, target: {kind: PersistentVolumeClaim}, merge: {spec: {storageClassName: local}}}
`

func TestEqualMembersShareOneRendering(t *testing.T) {
	r := renderer(t, spec(t, perCloud), "shop")
	distinct := map[*Rendering]int{}
	digests := map[string]bool{}
	for _, m := range append(fleet(1000), selection.Member{Name: "nowhere"}) {
		got := rendering(t, r, m)
		distinct[got]++
		digests[got.Digest] = true
	}
	if len(distinct) != 4 || r.Distinct() != 4 || len(digests) != 4 {
		t.Errorf("%d renderings (the renderer says %d) of %d digests for three clouds and one member without, want 4", len(distinct), r.Distinct(), len(digests))
	}
}

func TestRenderingsShareTheObjectsThatNoOverrideTouches(t *testing.T) {
	r := renderer(t, spec(t, perCloud), "shop")
	members := fleet(2)
	a, b := rendering(t, r, members[0]), rendering(t, r, members[1])
	if &a.Objects[0].JSON[0] != &b.Objects[0].JSON[0] {
		t.Error("the ConfigMap was rendered twice")
	}
	if a.Objects[1].Digest == b.Objects[1].Digest {
		t.Error("the claims are the same")
	}
}

func TestConcurrentMembersShareOneRendering(t *testing.T) {
	r := renderer(t, spec(t, perCloud), "shop")
	var group sync.WaitGroup
	got := make([]*Rendering, 300)
	members := fleet(300)
	for i := range members {
		group.Go(func() { got[i], _ = r.For(members[i]) })
	}
	group.Wait()
	for i := range members {
		if got[i] == nil || got[i] != got[i%3] {
			t.Fatalf("member %d has a rendering of its own", i)
		}
	}
}

func TestAnErrorNamesTheRenderedMember(t *testing.T) {
	r := renderer(t, spec(t, shop+"overrides: [{target: {kind: ConfigMap}, patch: [{op: remove, path: /spec}]}]"), "shop")
	for _, name := range []string{"east", "west"} {
		_, err := r.For(selection.Member{Name: name})
		var e *overrides.Error
		if !errors.As(err, &e) || e.Member != name || !strings.Contains(err.Error(), "for member "+name+":") {
			t.Errorf("for %s: %v", name, err)
		}
	}
}

func TestOverridesCannotExceedTheSizeLimits(t *testing.T) {
	big := strings.Repeat("x", 600<<10)
	for name, tc := range map[string]struct{ spec, want string }{
		"one object": {
			"objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: " + big + "}}]\n" +
				"overrides: [{target: {kind: ConfigMap}, merge: {data: {b: " + big + "}}}]",
			"rendering for member east: after the overrides ConfigMap a has 1200 KiB, and 1024 KiB is the limit",
		},
		"all of them": {
			"objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: d}}]\n" +
				"overrides: [{target: {kind: ConfigMap}, merge: {data: {b: " + big + "}}}]",
			"rendering for member east: after the overrides the objects have 2400 KiB together, and 2048 KiB is the limit",
		},
		"in depth": {
			"objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, x: " + strings.Repeat("[", 60) + strings.Repeat("]", 60) + "}]\n" +
				"overrides: [{target: {kind: ConfigMap}, patch: [{op: add, path: /x" + strings.Repeat("/0", 59) + "/-, value: " + strings.Repeat("[", 60) + strings.Repeat("]", 60) + "}]}]",
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := renderer(t, spec(t, tc.spec), "shop").For(selection.Member{Name: "east"})
			if tc.want == "" {
				tc.want = "rendering for member east: after the overrides ConfigMap a is nested 121 deep, and 100 is the limit"
			}
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTheOrderOfObjectsAndKeysDoesNotMatter(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	s := many(20)
	want := rendering(t, renderer(t, s, "shop"), selection.Member{Name: "east"}).Digest
	for range 50 {
		random.Shuffle(len(s.Objects), func(i, j int) { s.Objects[i], s.Objects[j] = s.Objects[j], s.Objects[i] })
		if got := rendering(t, renderer(t, s, "shop"), selection.Member{Name: "east"}).Digest; got != want {
			t.Fatal("another order, another digest")
		}
	}
	a := rendering(t, renderer(t, spec(t, `objects: [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "1", "y": "2"}}]`), "shop"), selection.Member{Name: "east"})
	b := rendering(t, renderer(t, &v1alpha1.WrapperSpec{Objects: []runtime.RawExtension{{Raw: []byte(
		"{\n \"metadata\": {\"namespace\": \"shop\", \"name\": \"a\"},\n \"data\": {\"y\": \"2\", \"x\": \"1\"}, \"kind\": \"ConfigMap\", \"apiVersion\": \"v1\"}")}}}, "shop"), selection.Member{Name: "east"})
	if a.Digest != b.Digest {
		t.Error("the order of keys, whitespace or the namespace written out make another digest")
	}
}

func TestRenderingARenderingAgainGivesTheSame(t *testing.T) {
	for name, s := range map[string]*v1alpha1.WrapperSpec{
		"plain":     many(20),
		"per cloud": spec(t, perCloud),
		"numbers": {Objects: []runtime.RawExtension{{Raw: []byte(
			`{"apiVersion":"a.io/v1","kind":"N","metadata":{"name":"n"},"n":[9007199254740993,-9223372036854775808,9223372036854775807,1.0,1e2,1e18,1e-7,-0,-0.0,0.1]}`)}}},
		"text": {Objects: []runtime.RawExtension{{Raw: []byte(
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n"},"data":{"a":"<&>\u2028\u0000\\\"é😀","\u00e9":"\ud800"}}`)}}},
	} {
		t.Run(name, func(t *testing.T) {
			first := rendering(t, renderer(t, s, "shop"), fleet(1)[0])
			again := &v1alpha1.WrapperSpec{}
			for _, o := range first.Objects {
				again.Objects = append(again.Objects, runtime.RawExtension{Raw: o.JSON})
			}
			second := rendering(t, renderer(t, again, "shop"), fleet(1)[0])
			if diff := cmp.Diff([]any{first.Digest, first.Objects}, []any{second.Digest, second.Objects}); diff != "" {
				t.Errorf("(-first +second):\n%s", diff)
			}
		})
	}
}

func TestLargeIntegersAreWrittenAsTheyWereRead(t *testing.T) {
	s := &v1alpha1.WrapperSpec{Objects: []runtime.RawExtension{{Raw: []byte(`{"apiVersion":"a.io/v1","kind":"N","metadata":{"name":"n"},"n":9007199254740993}`)}}}
	got := rendering(t, renderer(t, s, "shop"), fleet(1)[0])
	if !strings.Contains(string(got.Objects[0].JSON), `"n":9007199254740993}`) {
		t.Errorf("got %s", got.Objects[0].JSON)
	}
	obj, err := got.Objects[0].Unstructured()
	if err != nil {
		t.Fatal(err)
	}
	if obj.Object["n"] != int64(9007199254740993) {
		t.Errorf("decoded as %v", obj.Object["n"])
	}
}

// many returns a spec with n objects of about 1 KiB each.
func many(n int) *v1alpha1.WrapperSpec {
	s := &v1alpha1.WrapperSpec{}
	for i := range n {
		s.Objects = append(s.Objects, runtime.RawExtension{Raw: fmt.Appendf(nil,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%02d","labels":{"app":"web"}},"data":{"k":%q,"l":%q}}`,
			i, strings.Repeat("x", 400), strings.Repeat("y", 400))})
	}
	return s
}

func TestAMemberOfAKnownVariantAllocatesNothing(t *testing.T) {
	r, members := renderer(t, many(64), "shop"), fleet(2)
	rendering(t, r, members[0])
	if n := testing.AllocsPerRun(100, func() { rendering(t, r, members[1]) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
