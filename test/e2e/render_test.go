// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// rendered is one entry in the output of `hostctl render -o json`.
type rendered struct {
	Wrapper, Cluster, Rendering string
	Placed                      bool
	Objects                     []struct {
		Rendering string
		Object    map[string]any
	}
}

// render runs hostctl render -o json and decodes the output.
func render(ctx context.Context, args ...string) []rendered {
	GinkgoHelper()
	run := fleet.Hostctl(ctx, append([]string{"render", "-o", "json"}, args...)...)
	Expect(run.Code).To(Equal(0), run.Stderr)
	var list []rendered
	Expect(json.Unmarshal([]byte(run.Stdout), &list)).To(Succeed())
	return list
}

// expectWithin checks that the value have contains every field of the value want. It permits further fields in the value have, because the
// API server adds defaults. Lists have to be of equal length, and expectWithin compares them item by item.
func expectWithin(path string, want, have any) {
	GinkgoHelper()
	switch want := want.(type) {
	case map[string]any:
		Expect(have).To(BeAssignableToTypeOf(want), path)
		for key, value := range want {
			Expect(have).To(HaveKey(key), "%s has no %s", path, key)
			expectWithin(path+"/"+key, value, have.(map[string]any)[key])
		}
	case []any:
		Expect(have).To(HaveLen(len(want)), path)
		for i := range want {
			expectWithin(path+"/-", want[i], have.([]any)[i])
		}
	default:
		Expect(have).To(BeEquivalentTo(want), path)
	}
}

var _ = Describe("hostctl render", needsSimulation, func() {
	storefront := func(ctx context.Context) *build.Builder[*v1alpha1.Federated] {
		return build.Federated("storefront").In(newShop(ctx)).To("member-1", "member-2").With(
			build.ConfigMap("settings", "colour", "blue"),
			build.Claim("data"),
			build.Manifest(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: "example.com/app:1", ports: [{containerPort: 8080}]}
      - {name: proxy, image: "example.com/proxy:1"}
`)).Overriding(overridesFrom(`
- target: {kind: ConfigMap, name: settings}
  patch:
  - {op: add, path: /data/cluster, valueFrom: {fieldPath: metadata.name}}
  - {op: add, path: /metadata/labels/region, valueFrom: {fieldPath: "metadata.labels['topology.kubernetes.io/region']"}}
- clusters: {selectors: [{matchLabels: {cloud: aws}}]}
  target: {kind: Deployment}
  merge: {spec: {replicas: 3, template: {spec: {containers: [{name: app, image: "example.com/app:aws"}]}}}}
`)...)
	}

	It("prints exactly the objects that the member gets, with the same digest", func(ctx SpecContext) {
		w := author(ctx, storefront(ctx))
		expectReady(ctx, w)
		for _, name := range []string{"member-1", "member-2"} {
			member := fleet.Member(name)
			list := render(ctx, w.Name, "-n", w.Namespace, "--cluster", name)
			Expect(list).To(HaveLen(1))
			Expect(list[0].Placed).To(BeTrue())
			Expect(list[0].Cluster).To(Equal(name))
			Expect(list[0].Rendering).To(Equal(member.delivery(ctx, w).Spec.Target.Rendering))
			Expect(list[0].Objects).To(HaveLen(3))
			for _, o := range list[0].Objects {
				printed := unstructured.Unstructured{Object: o.Object}
				there := member.fetch(ctx, printed.GetKind(), w.Namespace, printed.GetName())
				Expect(there).NotTo(BeNil(), "%s %s is not on %s", printed.GetKind(), printed.GetName(), name)
				expectWithin(printed.GetKind(), o.Object, there.Object)
				Expect(there.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationRendering, o.Rendering))
			}
		}
	})

	It("prints the same for a file as for the wrapper made from it", needsSimulation, func(ctx SpecContext) {
		w := storefront(ctx).Obj()
		content, err := json.Marshal(w)
		Expect(err).NotTo(HaveOccurred())
		file := filepath.Join(GinkgoT().TempDir(), "storefront.json")
		Expect(os.WriteFile(file, content, 0o600)).To(Succeed())

		before := render(ctx, "-f", file)
		Expect(before).To(HaveLen(2))
		fleet.Host.create(ctx, w)
		Expect(render(ctx, w.Name, "-n", w.Namespace)).To(Equal(before))

		text := fleet.Hostctl(ctx, "render", "-f", file, "--cluster", "member-1")
		Expect(text.Code).To(Equal(0))
		Expect(text.Stdout).To(And(
			ContainSubstring("# cluster member-1: rendering "+before[0].Rendering), ContainSubstring("image: example.com/app:aws"),
			ContainSubstring("region: eu-west-1"), Not(ContainSubstring("member-2"))))
	})

	It("prints a rendering that members share once, and names a member that is not placed", func(ctx SpecContext) {
		class := author(ctx, build.ClusterFederated(unique("class")).To("member-1", "member-2").With(build.StorageClass(unique("slow"))))
		shared := fleet.Hostctl(ctx, "render", "cfed/"+class.Name)
		Expect(shared.Code).To(Equal(0))
		Expect(shared.Stdout).To(And(
			MatchRegexp(`(?m)^# cluster member-1: rendering (sha256:\w+)\n# cluster member-2: rendering sha256:`),
			ContainSubstring("kind: StorageClass")))
		list := render(ctx, "cfed/"+class.Name)
		Expect(list).To(HaveLen(2))
		Expect(list[0].Rendering).To(Equal(list[1].Rendering))

		elsewhere := fleet.Hostctl(ctx, "render", "cfed/"+class.Name, "--cluster", "member-3")
		Expect(elsewhere.Code).To(Equal(0))
		Expect(elsewhere.Stdout).To(ContainSubstring("spec.placement does not select this cluster"))
	})

	It("prints the other members if an override does not fit one, says why, and fails", func(ctx SpecContext) {
		w := storefront(ctx).Overriding(overridesFrom(`
- clusters: {names: [member-2]}
  target: {kind: ConfigMap}
  patch: [{op: replace, path: /data/size, value: "1"}]
`)...).Obj()
		fleet.Host.create(ctx, w)
		run := fleet.Hostctl(ctx, "render", w.Name, "-n", w.Namespace)
		Expect(run.Code).To(Equal(1))
		Expect(run.Stdout).To(And(ContainSubstring("# cluster member-1:"), Not(ContainSubstring("# cluster member-2:"))))
		Expect(run.Stderr).To(And(ContainSubstring("overrides[2].patch[0]"), ContainSubstring("member-2"), ContainSubstring("/data/size")))

		missing := fleet.Hostctl(ctx, "render", w.Name, "-n", w.Namespace, "--cluster", "member-9")
		Expect(missing.Code).To(Equal(1))
		Expect(missing.Stderr).To(ContainSubstring("there is no cluster member-9; there are member-1, member-2, member-3"))
		Expect(fleet.Hostctl(ctx, "render").Code).To(Equal(2))
	})
})
