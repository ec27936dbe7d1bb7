// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

func variant(t testing.TB, r *Renderer, m selection.Member) *Variant {
	t.Helper()
	v, err := r.NewRound().Variant(m)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// heap returns how many bytes of the heap are in use after a garbage collection.
func heap() int64 {
	for range 3 { // objects with weak pointers or finalizers are freed one cycle later
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc) //nolint:gosec // far less than that
}

// large returns a spec with one object of size bytes, which an override makes different on each member.
func large(t testing.TB, size int) *v1alpha1.WrapperSpec {
	return spec(t, fmt.Sprintf(`
objects:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {filling: %q}}
overrides:
- {target: {kind: ConfigMap}, patch: [{op: add, path: /data/member, valueFrom: {fieldPath: metadata.name}}]}`, strings.Repeat("x", size)))
}

// The Renderer must not keep renderings that no caller uses. When it did, 1,000 different renderings of 512 KiB took
// 508 MiB of memory.
func TestUnusedRenderingsTakeNoMemory(t *testing.T) {
	r := renderer(t, large(t, 512<<10), "shop")
	members := fleet(1000)
	before := heap()
	variants := make([]*Variant, 0, len(members))
	for _, m := range members {
		variants = append(variants, variant(t, r, m))
	}
	if grown := heap() - before; grown > 2<<20 {
		t.Errorf("%d KiB for %d members", grown>>10, len(members))
	}
	distinct := map[string]bool{}
	for _, v := range variants {
		distinct[v.Digest()] = true
	}
	if len(distinct) != len(members) {
		t.Errorf("%d digests", len(distinct))
	}
	runtime.KeepAlive(r)
}

// BenchmarkVariantAtRest measures how many bytes the Renderer keeps for each member. The number must not depend on the
// size of the object.
func BenchmarkVariantAtRest(b *testing.B) {
	for name, size := range map[string]int{"1KiB": 1 << 10, "512KiB": 512 << 10} {
		b.Run(name, func(b *testing.B) {
			r, members := renderer(b, large(b, size), "shop"), fleet(1000)
			before := heap()
			for b.Loop() {
				for _, m := range members {
					variant(b, r, m)
				}
			}
			b.ReportMetric(float64(heap()-before)/float64(len(members)), "B/pair")
			runtime.KeepAlive(r)
		})
	}
}

func TestARepeatedRenderingIsEqual(t *testing.T) {
	for name, text := range map[string]string{"no overrides": shop, "overrides": perCloud} {
		t.Run(name, func(t *testing.T) {
			s := spec(t, text)
			r := renderer(t, s, "shop")
			v := variant(t, r, fleet(1)[0])
			first, err := v.Render()
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("%s %+v", first.Digest, first.Objects)
			first = nil
			heap()
			r.Follow(s.DeepCopy())
			again, err := v.Render()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, fmt.Sprintf("%s %+v", again.Digest, again.Objects)); diff != "" {
				t.Errorf("(-first +again):\n%s", diff)
			}
			if v.Digest() != again.Digest || r.Distinct() != 1 {
				t.Errorf("the variant says %s, of %d", v.Digest(), r.Distinct())
			}
		})
	}
}

func TestAVariantListsItsObjects(t *testing.T) {
	v := variant(t, renderer(t, spec(t, shop), "shop"), selection.Member{Name: "east"})
	for what, want := range map[[3]string]bool{
		{"", "ConfigMap", "settings"}: true, {"", "PersistentVolumeClaim", "data"}: true,
		{"", "ConfigMap", "data"}: false, {"apps", "ConfigMap", "settings"}: false,
	} {
		if v.Lists(what[0], what[1], what[2]) != want {
			t.Errorf("%v: listed %v", what, !want)
		}
	}
}
