// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// ofMembers reports whether only members, and not the host, serve the kind of this manifest of the test data.
func ofMembers(path string) bool {
	base := filepath.Base(path)
	return strings.HasPrefix(base, "delivery") || strings.HasPrefix(base, "membership")
}

// rehearse runs kubectl on a manifest as a server-side dry run: at member-1 if only members serve the kind, else at the host.
func rehearse(ctx SpecContext, path string, verb ...string) Run {
	cluster := "host"
	if ofMembers(path) {
		cluster = "member-1"
	}
	return fleet.Kubectl(ctx, append([]string{"--context", cluster, "--dry-run=server", "-f", path}, verb...)...)
}

var _ = Describe("When manifests come to the API server", func() {
	data := func(kind string) []string {
		files, err := filepath.Glob(filepath.Join("..", "..", "apis", "v1alpha1", "testdata", kind, "*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(files).NotTo(BeEmpty())
		return files
	}

	It("accepts every valid manifest", func(ctx SpecContext) {
		for _, path := range data("valid") {
			Expect(rehearse(ctx, path, "apply", "--server-side", "--force-conflicts")).To(HaveField("Code", 0), path)
		}
	})

	It("refuses every invalid manifest with the message that the manifest's first line names", func(ctx SpecContext) {
		for _, path := range data("invalid") {
			content, err := os.ReadFile(path)
			Expect(err).NotTo(HaveOccurred())
			first, _, _ := strings.Cut(string(content), "\n")
			words, ok := strings.CutPrefix(first, "# want: ")
			Expect(ok).To(BeTrue(), "%s does not begin with `# want: …`", path)
			got := rehearse(ctx, path, "create")
			Expect(got.Code).NotTo(BeZero(), path)
			Expect(got.Stderr).To(ContainSubstring(words), path)
		}
	})

	It("changes nothing for kubectl diff and --dry-run=server", func(ctx SpecContext) {
		shop := newShop(ctx)
		w := author(ctx, build.Federated("settings").In(shop).With(build.ConfigMap("settings", "colour", "blue")).To("member-1"))
		expectReady(ctx, w)
		before := w.ResourceVersion
		manifest := `
apiVersion: federation.fairlead.dev/v1alpha1
kind: Federated
metadata: {name: settings, namespace: ` + shop + `}
spec:
  objects:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {colour: green}}
  placement: {clusters: {names: [member-1]}}
`
		diff := fleet.KubectlWith(ctx, manifest, "diff", "--server-side", "--force-conflicts", "-f", "-")
		Expect(diff.Code).To(Equal(1), "kubectl diff exits 1 where something differs: %s", diff.Stderr)
		Expect(diff.Stdout).To(And(ContainSubstring("colour: blue"), ContainSubstring("colour: green")))
		other := strings.Replace(manifest, "name: settings, n", "name: new, n", 1)
		Expect(fleet.KubectlWith(ctx, other, "create", "--dry-run=server", "-f", "-").Code).To(BeZero())
		Expect(reread(ctx, w)(Default).ResourceVersion).To(Equal(before))
		Expect(fleet.Host.lacks(build.Federated("new").In(shop).Obj())(ctx)).To(BeTrue())
	})
})

var _ = Describe("When a wrapper cannot be pushed to any member", func() {
	table := map[string]struct {
		build func(b *build.Builder[*v1alpha1.Federated])
		words []string
	}{
		"spec.placement.clusters selects nothing": {
			func(b *build.Builder[*v1alpha1.Federated]) {
				b.Obj().Spec.Placement.Clusters = &v1alpha1.ClusterSelection{}
			},
			[]string{"spec.placement.clusters"},
		},
		"an object is in another namespace": {
			func(b *build.Builder[*v1alpha1.Federated]) {
				elsewhere := build.ConfigMap("elsewhere")
				elsewhere.SetNamespace("elsewhere")
				b.To("member-1").With(elsewhere)
			}, []string{"spec.objects[0]", "elsewhere", "namespace"},
		},
		"spec.objects has an object twice": {
			func(b *build.Builder[*v1alpha1.Federated]) {
				b.To("member-1").With(build.ConfigMap("twin"), build.ConfigMap("twin"))
			},
			[]string{"spec.objects[1]", "twin"},
		},
		"the target of an override is no object of the wrapper": {
			func(b *build.Builder[*v1alpha1.Federated]) {
				override := build.Override("ConfigMap", "missing")
				override.Merge = build.JSON(map[string]any{"data": map[string]any{"a": "b"}})
				b.To("member-1").With(build.ConfigMap("there")).Overriding(override)
			}, []string{"spec.overrides[0]", "missing"},
		},
		"an object has a status": {
			func(b *build.Builder[*v1alpha1.Federated]) {
				b.To("member-1").With(build.Manifest("{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {}, status: {loadBalancer: {}}}"))
			}, []string{"spec.objects[0]", "status"},
		},
	}
	for sentence, c := range table {
		It("is refused because "+sentence, func(ctx SpecContext) {
			b := build.Federated("refused").In(newShop(ctx))
			c.build(b)
			if b.Obj().Spec.Objects == nil {
				b.With(build.ConfigMap("some"))
			}
			err := fleet.Host.Create(ctx, b.Obj(), client.DryRunAll)
			Expect(err).To(HaveOccurred())
			for _, w := range c.words {
				Expect(err.Error()).To(ContainSubstring(w))
			}
		})
	}

	It("has the finalizer from its creation, if it is valid", func(ctx SpecContext) {
		b := build.Federated("signed").In(newShop(ctx)).With(build.ConfigMap("some")).To("member-1")
		Expect(fleet.Host.Create(ctx, b.Obj(), client.DryRunAll)).To(Succeed())
		Expect(b.Obj().Finalizers).To(ConsistOf(v1alpha1.Finalizer))
	})
})

var _ = Describe("When a member's namespaces are closed", func() {
	managed := func(ctx SpecContext, name string, policy v1alpha1.NamespacePolicy) {
		GinkgoHelper()
		m := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		edit(ctx, m, func(m *v1alpha1.MemberCluster) { m.Spec.NamespacePolicy = policy })
	}

	It("Managed allows namespaces that Fairlead made or that are labelled open, All allows every namespace", func(ctx SpecContext) {
		member := fleet.Member("member-3")
		DeferCleanup(func(ctx SpecContext) { managed(ctx, member.Name, v1alpha1.NamespacesAll) })
		managed(ctx, member.Name, v1alpha1.NamespacesManaged)
		missing, foreign, open := newShop(ctx), newShop(ctx), newShop(ctx)
		Expect(member.Create(ctx, build.Namespace(foreign))).To(Succeed())
		labelled := build.Namespace(open)
		labelled.SetLabels(map[string]string{v1alpha1.LabelOpen: "true"})
		Expect(member.Create(ctx, labelled)).To(Succeed())

		in := func(shop string) *v1alpha1.Federated {
			return author(ctx, build.Federated("settings").In(shop).With(build.ConfigMap("settings")).To(member.Name))
		}
		made, refused, taken := in(missing), in(foreign), in(open)
		expectReady(ctx, made, taken)
		Eventually(ctx, reread(ctx, refused)).Should(
			haveLine(member.Name, v1alpha1.StateStalled, v1alpha1.ReasonNamespaceNotOpen, foreign, v1alpha1.LabelOpen))
		Expect(member.has("ConfigMap", foreign, "settings")(ctx)).To(BeFalse())

		managed(ctx, member.Name, v1alpha1.NamespacesAll)
		expectReady(ctx, refused)
	})

	It("a Federated in kube-* or fairlead-system is refused", func(ctx SpecContext) {
		name := unique("settings")
		for _, system := range []string{"kube-public", v1alpha1.SystemNamespace} {
			err := fleet.Host.Create(ctx, build.Federated(name).In(system).With(build.ConfigMap(name)).To("member-1").Obj())
			Expect(err).To(MatchError(ContainSubstring("nothing is federated into " + system)))
		}
	})
})
