// SPDX-License-Identifier: Apache-2.0

package render

import "testing"

// BenchmarkRender renders a wrapper of 64 objects of 1 KiB for 1,000 members, from the spec to each rendering.
func BenchmarkRender(b *testing.B) {
	for name, tail := range map[string]string{
		"NoOverrides": "",
		"OnePerCloud": `
overrides:
- {clusters: {selectors: [{matchLabels: {cloud: aws}}]}, target: {kind: ConfigMap, name: c00}, merge: {data: {cloud: a}}}
- {clusters: {selectors: [{matchLabels: {cloud: gcp}}]}, target: {kind: ConfigMap, name: c00}, merge: {data: {cloud: g}}}
- {clusters: {selectors: [{matchLabels: {cloud: onprem}}]}, target: {kind: ConfigMap, name: c00}, merge: {data: {cloud: o}}}`,
		"OnePerMember": `
overrides:
- target: {kind: ConfigMap, name: c00}
  patch: [{op: add, path: /data/member, valueFrom: {fieldPath: metadata.name}}]`,
		"AllObjectsPerMember": `
overrides:
- target: {kind: ConfigMap}
  patch: [{op: add, path: /data/member, valueFrom: {fieldPath: metadata.name}}]`,
	} {
		b.Run(name, func(b *testing.B) { benchmark(b, tail) })
	}
}

func benchmark(b *testing.B, tail string) {
	s := many(64)
	if tail != "" {
		s.Overrides = spec(b, tail).Overrides
	}
	members := fleet(1000)
	b.ReportAllocs()
	for b.Loop() {
		r := renderer(b, s, "shop")
		for _, m := range members {
			rendering(b, r, m)
		}
		b.ReportMetric(float64(r.Distinct()), "renderings")
	}
}
