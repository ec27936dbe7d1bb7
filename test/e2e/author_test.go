// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// HostctlWith does the same as Hostctl, and gives the program this standard input, for the argument -f -.
func (f *TestFleet) HostctlWith(ctx context.Context, stdin string, args ...string) Run {
	GinkgoHelper()
	return f.run(ctx, stdin, filepath.Join(f.repo, "bin", "hostctl"), args...)
}

// documents decodes a YAML stream of wrappers, as hostctl federate prints it.
func documents(text string) []map[string]any {
	GinkgoHelper()
	var all []map[string]any
	for _, document := range strings.Split(text, "\n---\n") {
		content := map[string]any{}
		Expect(yaml.Unmarshal([]byte(document), &content)).To(Succeed())
		all = append(all, content)
	}
	return all
}

// titles describes each wrapper and its objects in a line: "Kind namespace/name: Kind name, Kind name".
func titles(wrappers []map[string]any) []string {
	var all []string
	for _, w := range wrappers {
		metadata := w["metadata"].(map[string]any)
		title := fmt.Sprint(w["kind"], " ", metadata["name"])
		if namespace, ok := metadata["namespace"]; ok {
			title = fmt.Sprint(w["kind"], " ", namespace, "/", metadata["name"])
		}
		var objects []string
		for _, o := range w["spec"].(map[string]any)["objects"].([]any) {
			object := o.(map[string]any)
			objects = append(objects, fmt.Sprint(object["kind"], " ", object["metadata"].(map[string]any)["name"]))
		}
		all = append(all, title+": "+strings.Join(objects, ", "))
	}
	return all
}

// inFile writes content into a temporary file with this name, and returns the file's path.
func inFile(name, content string) string {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), name)
	Expect(os.WriteFile(file, []byte(content), 0o600)).To(Succeed())
	return file
}

// configMaps returns n ConfigMaps as one YAML stream.
func configMaps(n int) string {
	var all strings.Builder
	for i := range n {
		fmt.Fprintf(&all, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%02d, namespace: shop}\n", i)
	}
	return all.String()
}

// leaves returns the paths of all fields of a value, for example .spec.ports[].port. Items of lists are written as [].
func leaves(path string, value any) []string {
	var all []string
	switch value := value.(type) {
	case map[string]any:
		all = append(all, path)
		for key := range value {
			all = append(all, leaves(path+"."+key, value[key])...)
		}
	case []any:
		for _, item := range value {
			all = append(all, leaves(path+"[]", item)...)
		}
	default:
		all = append(all, path)
	}
	return all
}

var _ = Describe("hostctl federate", func() {
	It("makes wrappers from objects of a member, without the values that this cluster set", needsSimulation, needsOpenMembers, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		member.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop}})
		live := inFile("live.yaml", fmt.Sprintf(`
{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: %[1]s}, data: {colour: blue}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: web, namespace: %[1]s}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: Service, metadata: {name: web, namespace: %[1]s}, spec: {type: NodePort, selector: {app: web}, ports: [{port: 80}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %[1]s}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: "example.com/app:1"}]}
`, shop))
		Expect(fleet.Kubectl(ctx, "--context", "member-1", "apply", "-f", live).Code).To(Equal(0))
		Eventually(ctx, func(g Gomega) {
			g.Expect(member.claim(ctx, shop, "web").Status.Phase).To(Equal(corev1.ClaimBound))
			g.Expect(member.field("Deployment", shop, "web", "status", "readyReplicas")(ctx)).To(BeEquivalentTo(1))
		}).Should(Succeed())
		exported := fleet.Kubectl(ctx, "--context", "member-1", "get", "-n", shop, "-o", "yaml", "configmap/web", "pvc/web", "service/web", "deployment/web")
		Expect(exported.Stdout).To(And(ContainSubstring("clusterIP:"), ContainSubstring("volumeName:"), ContainSubstring("nodePort:")))

		wrapped := fleet.HostctlWith(ctx, exported.Stdout, "federate", "-f", "-", "--clusters", "member-2,member-3")
		Expect(wrapped.Code).To(Equal(0), wrapped.Stderr)
		list := documents(wrapped.Stdout)
		Expect(titles(list)).To(Equal([]string{
			"Federated " + shop + "/configmap-web: ConfigMap web",
			"Federated " + shop + "/persistentvolumeclaim-web: PersistentVolumeClaim web",
			"Federated " + shop + "/service-web: Service web",
			"Federated " + shop + "/deployment-web: Deployment web",
		}))
		for _, w := range list {
			for _, object := range w["spec"].(map[string]any)["objects"].([]any) {
				Expect(leaves("", object)).NotTo(ContainElement(MatchRegexp(
					`^\.status|\.(uid|resourceVersion|generation|creationTimestamp|managedFields|clusterIPs?|nodePort|volumeName|storageClassName)$|` +
						`last-applied-configuration|pv\.kubernetes\.io|volume\.(beta\.)?kubernetes\.io|deployment\.kubernetes\.io/revision`)))
			}
		}

		Expect(fleet.KubectlWith(ctx, wrapped.Stdout, "create", "-f", "-").Code).To(Equal(0))
		DeferCleanup(func(ctx SpecContext) {
			Expect(fleet.KubectlWith(ctx, wrapped.Stdout, "delete", "--ignore-not-found", "-f", "-").Code).To(Equal(0))
		})
		for _, name := range []string{"configmap-web", "persistentvolumeclaim-web", "service-web", "deployment-web"} {
			expectReady(ctx, build.Federated(name).In(shop).Obj())
		}
		for _, name := range []string{"member-2", "member-3"} {
			there := fleet.Member(name)
			Expect(there.claim(ctx, shop, "web").Spec.StorageClassName).To(HaveValue(Equal(name+"-standard")), "the claim must get the default class of its own member")
			Expect(there.field("Service", shop, "web", "spec", "clusterIP")(ctx)).NotTo(BeEmpty())
		}
	})

	It("puts related objects into one wrapper per scope with --bundle, and each into its own without", func(ctx SpecContext) {
		folder := filepath.Dir(inFile("a.yaml", `
{apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: shop}}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: example.com/p}
`))
		Expect(os.WriteFile(filepath.Join(folder, "b.yaml"), []byte(
			"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, namespace: shop}, "+
				"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}"), 0o600)).To(Succeed())
		bundle := fleet.Hostctl(ctx, "federate", "-f", folder, "--bundle", "shop", "--all-clusters")
		Expect(bundle.Code).To(Equal(0), bundle.Stderr)
		Expect(titles(documents(bundle.Stdout))).To(Equal([]string{
			"ClusterFederated shop: StorageClass fast", "Federated shop/shop: ConfigMap web, PersistentVolumeClaim data"}))
		Expect(fleet.Hostctl(ctx, "federate", "-f", folder, "--bundle", "shop", "--all-clusters").Stdout).To(Equal(bundle.Stdout), "the output is not stable")

		single := fleet.Hostctl(ctx, "federate", "-f", folder, "--cluster-selector", "cloud=aws")
		Expect(titles(documents(single.Stdout))).To(Equal([]string{
			"ClusterFederated storageclass-fast: StorageClass fast",
			"Federated shop/configmap-web: ConfigMap web",
			"Federated shop/persistentvolumeclaim-data: PersistentVolumeClaim data"}))
		Expect(single.Stdout).To(ContainSubstring("cloud: aws"))
	})

	It("leaves a placeholder for a missing placement, which the host refuses with a hint", func(ctx SpecContext) {
		run := fleet.HostctlWith(ctx, "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}", "federate", "-f", "-", "-n", newShop(ctx))
		Expect(run.Code).To(Equal(0))
		Expect(run.Stderr).To(ContainSubstring("--all-clusters"))
		refused := fleet.KubectlWith(ctx, run.Stdout, "create", "-f", "-")
		Expect(refused.Code).NotTo(Equal(0))
		Expect(refused.Stderr).To(ContainSubstring("clusters is empty: name the members in names, or select them in selectors (selectors: [{}] selects every member)"))
	})

	DescribeTable("notes on stderr what the author may not intend, and goes on", needsOLM, needsSimulation, needsOpenMembers, func(ctx SpecContext, manifest string, words ...string) {
		run := fleet.HostctlWith(ctx, manifest, "federate", "-f", "-", "-n", "shop", "--all-clusters")
		Expect(run.Code).To(Equal(0), run.Stderr)
		Expect(run.Stdout).To(HavePrefix("apiVersion: federation.fairlead.dev/v1alpha1\n"))
		for _, w := range words {
			Expect(run.Stderr).To(ContainSubstring(w))
		}
	},
		Entry(`the class ""`, `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, spec: {storageClassName: ""}}`,
			"note: standard input, document 1 (line 1), PersistentVolumeClaim a", "switches dynamic provisioning off"),
		Entry("two default classes", `
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: x}
---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: b, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}, provisioner: x}
`, "2 default classes (a, b)"),
		Entry("a literal Secret", `{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {p: w}}`, "the wrapper will hold the Secret's content"),
		Entry("a Pod without an owner", `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: b}]}}`, "a Pod without a controller"),
		Entry("a Subscription without OperatorGroup",
			`{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: a}, spec: {name: a, source: s, sourceNamespace: n}}`, "no OperatorGroup"),
	)

	It("splits objects that do not fit into one wrapper, and names the wrappers", func(ctx SpecContext) {
		run := fleet.HostctlWith(ctx, configMaps(65), "federate", "-f", "-", "--bundle", "many", "--all-clusters")
		Expect(run.Code).To(Equal(0), run.Stderr)
		Expect(run.Stderr).To(ContainSubstring("Federated many is full with 64 objects (a wrapper holds at most 64, and 1 MiB): the rest is in many-2"))
		list := documents(run.Stdout)
		Expect(list).To(HaveLen(2))
		Expect(titles(list[1:])).To(Equal([]string{"Federated shop/many-2: ConfigMap c64"}))
	})

	DescribeTable("refuses input that it would have to change to read it, names file, document and field, and prints nothing",
		func(ctx SpecContext, manifest string, words ...string) {
			run := fleet.HostctlWith(ctx, manifest, "federate", "-f", "-", "-n", "shop", "--all-clusters")
			Expect(run.Code).To(Equal(1), "want exit code 1, which means failed")
			Expect(run.Stdout).To(BeEmpty())
			for _, w := range words {
				Expect(run.Stderr).To(ContainSubstring(w))
			}
		},
		Entry("an alias", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: &x b, c: *x}\n",
			"standard input, document 1 (line 1)", "data.a", "anchors (&x) and aliases (*) are not accepted"),
		Entry("a key that is there twice", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, name: b}\n",
			"document 2 (line 6)", "metadata.name: occurs twice"),
		Entry("more than 3 MiB", strings.Repeat("# nothing but words\n", 3<<20/20+1), "larger than 3 MiB"),
		Entry("a depth beyond 100", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: "+strings.Repeat("[", 101)+strings.Repeat("]", 101)+"\n", "nested deeper than 100 levels"),
		Entry("a kind of unknown scope", "apiVersion: example.com/v1\nkind: Mystery\nmetadata: {name: a}\n", "Mystery", "--namespaced"),
		Entry("nothing at all", "# no object\n", "there is no object in it"),
		Entry("a wrapper", "apiVersion: federation.fairlead.dev/v1alpha1\nkind: Federated\nmetadata: {name: a}\n", "Fairlead's own kind"),
	)

	It("has different exit codes for wrong use and bad input", func(ctx SpecContext) {
		for _, args := range [][]string{{}, {"-f", "-", "-o", "table"}, {"-f", "-", "--clusters", "a", "--all-clusters"}} {
			Expect(fleet.Hostctl(ctx, append([]string{"federate"}, args...)...).Code).To(Equal(2), "%v", args)
		}
		Expect(fleet.Hostctl(ctx, "federate", "-f", "/nowhere.yaml", "--all-clusters").Code).To(Equal(1))
	})
})

var _ = Describe("The samples", Ordered, longFirst, needsOpenMembers, func() {
	sample := func(path ...string) string {
		return filepath.Join(append([]string{fleet.repo, "config", "samples"}, path...)...)
	}

	BeforeAll(func(ctx SpecContext) {
		names := []string{"shop", "greetings"} // the namespaces of the samples
		for _, name := range names {
			Expect(fleet.Host.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})).To(Succeed())
		}
		DeferCleanup(func(ctx SpecContext) {
			everywhere := append(fleet.Members(), fleet.Host)
			for _, name := range names {
				namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
				for _, c := range everywhere {
					Expect(client.IgnoreNotFound(c.Delete(ctx, namespace.DeepCopy()))).To(Succeed())
				}
				for _, c := range everywhere { // wait: the samples have fixed names, so the next run would meet objects that are still being deleted
					Eventually(ctx, c.lacks(namespace)).WithTimeout(time.Minute).Should(BeTrue())
				}
			}
		}, NodeTimeout(3*time.Minute))
	})

	It("are all accepted by the host", func(ctx SpecContext) {
		files, err := filepath.Glob(sample("*.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(files).NotTo(BeEmpty())
		for _, file := range files {
			Expect(fleet.Kubectl(ctx, "create", "--dry-run=server", "-f", file).Code).To(Equal(0), file)
		}
	})

	It("in plain manifests become shop.yaml by hostctl federate and the patch beside", func(ctx SpecContext) {
		wrapped := fleet.Hostctl(ctx, "federate", "-f", sample("plain", "shop"), "--bundle", "shop", "--all-clusters")
		Expect(wrapped.Code).To(Equal(0), wrapped.Stderr)
		merged := fleet.KubectlWith(ctx, wrapped.Stdout, "patch", "--local", "-f", "-", "--type", "merge",
			"--patch-file", sample("plain", "shop-patch.yaml"), "-o", "yaml")
		Expect(merged.Code).To(Equal(0), merged.Stderr)
		written, err := os.ReadFile(sample("shop.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(merged.Stdout).To(MatchYAML(written))
	})

	It("give each cloud its class, and the shop its claim, operator and messages", needsSimulation, func(ctx SpecContext) {
		for _, member := range fleet.Members() {
			DeferCleanup(func(ctx SpecContext) {
				class := member.fetch(ctx, "StorageClass", "", "fast") // the class is still there: the wrapper's onDelete is KeepData
				if class != nil {
					Expect(member.Delete(ctx, class)).To(Succeed())
				}
			})
		}
		for _, file := range []string{"storageclass-fast.yaml", "shop.yaml"} {
			Expect(fleet.Kubectl(ctx, "create", "-f", sample(file)).Code).To(Equal(0))
			DeferCleanup(func(ctx SpecContext) {
				Expect(fleet.Kubectl(ctx, "delete", "--ignore-not-found", "-f", sample(file)).Code).To(Equal(0))
			})
		}
		fast, shop := build.ClusterFederated("fast").Obj(), build.Federated("shop").In("shop").Obj()
		expectReady(ctx, fast)
		Eventually(ctx, reread(ctx, shop)).WithTimeout(olmPatience).Should(beReady())
		for name, want := range map[string]struct{ provisioner, cloud, region string }{
			"member-1": {"ebs.csi.aws.com", "aws", "eu-west-1"},
			"member-2": {"pd.csi.storage.gke.io", "gcp", "europe-west4"},
			"member-3": {"rancher.io/local-path", "onprem", "berlin"},
		} {
			member := fleet.Member(name)
			Expect(member.field("StorageClass", "", "fast", "provisioner")(ctx)).To(Equal(want.provisioner))
			Expect(member.field("ConfigMap", "shop", "storefront", "data")(ctx)).To(And(
				HaveKeyWithValue("cloud", want.cloud), HaveKeyWithValue("cluster", name), HaveKeyWithValue("currency", "EUR")))
			Expect(member.fetch(ctx, "ConfigMap", "shop", "storefront").GetLabels()).To(HaveKeyWithValue("region", want.region))
			Expect(member.claim(ctx, "shop", "data").Spec.StorageClassName).To(HaveValue(Equal(name + "-standard")))
			line := lineOf(shop, name)
			Expect(line.State).To(Equal(v1alpha1.StateHealthy))
			Expect(line.Version).To(Equal(demoCSV("v1.0.0")))
			Expect(member.csvPhase(ctx, "shop", line.Version)).To(Equal("Succeeded"))
		}

		By("upgrading the operator in two waves by the patch for v1.1.0")
		publishUpTo(ctx, "v1.1.0", "member-1", "member-2", "member-3")
		Expect(fleet.Kubectl(ctx, "-n", "shop", "patch", "federated", "shop", "--type", "merge", "--patch-file", sample("plain", "shop-v1.1.0.yaml")).Code).To(Equal(0))
		Eventually(ctx, reread(ctx, shop)).WithTimeout(olmPatience).Should(And(haveVersion("member-3", "v1.1.0"),
			haveVersion("member-1", "v1.0.0"), haveVersion("member-2", "v1.0.0"),
			haveRollout(v1alpha1.RolloutProgressing, "rest", v1alpha1.ReasonWaveNeedsApproval)))
		approve(ctx, "shop", "-n", "shop", "--wave", "rest")
		Eventually(ctx, reread(ctx, shop)).WithTimeout(olmPatience).Should(And(beReady(), haveVersion("member-1", "v1.1.0"), haveVersion("member-2", "v1.1.0")))
	}, SpecTimeout(8*time.Minute))
})
