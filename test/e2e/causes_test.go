// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
	"github.com/fairlead-dev/fairlead/internal/sandbox/olm"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// withPods returns a Deployment with one replica. The template of its pods gets these annotations and this
// spec, each the content of an inline map of YAML.
func withPods(name, annotations, spec string) *unstructured.Unstructured {
	return build.Manifest(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}, annotations: {%[2]s}}
    spec: {%[3]s}
`, name, annotations, spec)
}

// simulatedFailure returns a Deployment whose pods KWOK lets fail in this way.
func simulatedFailure(name, how string) *unstructured.Unstructured {
	return withPods(name, "sandbox.fairlead.dev/fails: "+how, `containers: [{name: app, image: "shop/app:9", resources: {limits: {memory: 64Mi}}}]`)
}

// kubeconfigAs writes a kubeconfig for the host with which a client impersonates a user, and returns its path.
func kubeconfigAs(user string) string {
	GinkgoHelper()
	config, err := clientcmd.LoadFromFile(fleet.Host.Kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	for _, info := range config.AuthInfos {
		info.Impersonate = user
	}
	path := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(*config, path)).To(Succeed())
	return path
}

// faultsOfPods are the faults of pods, quotas and claims. On member-1, taint is the value of the label e2e.fairlead.dev/reserved of a node
// with a taint, noVolumes is a class whose provisioner does not exist, late is a class that waits for the first consumer, and gauge is a kind
// whose schema refuses every size above 0. On member-3, newDefault is a second default class, which also waits for the first consumer.
func faultsOfPods(taint, noVolumes, late, newDefault, gauge string) []*fault {
	one := func(objects ...*unstructured.Unstructured) *build.Builder[*v1alpha1.Federated] {
		return build.Federated("web").To("member-1").With(objects...)
	}
	degraded, progressing := v1alpha1.StateDegraded, v1alpha1.StateProgressing
	return []*fault{
		{number: "1", name: "image", wrapper: one(simulatedFailure("web", "ImagePullBackOff")), state: degraded, reason: "ImagePullBackOff",
			sign: podFails, words: []string{"Deployment web: pod web-", "container app: its image shop/app:9 cannot be pulled: shop/app:9: not found"}, evidence: []string{"ImagePullBackOff"}},
		{number: "2", name: "crash", wrapper: one(simulatedFailure("web", "CrashLoopBackOff")), state: degraded, reason: "CrashLoopBackOff",
			sign: podFails, words: []string{"ended with exit code 1 (Error) after 5 restarts", "from its log: This pod is simulated"}, evidence: []string{"This pod is simulated"}},
		{number: "3", name: "memory", wrapper: one(simulatedFailure("web", "OOMKilled")), state: degraded, reason: "OOMKilled",
			sign: podFails, words: []string{"container app used more memory than its limit of 64Mi and was killed"}, evidence: []string{"CrashLoopBackOff"}},
		{number: "4", name: "unready", wrapper: one(simulatedFailure("web", "NotReady")), state: progressing, reason: v1alpha1.ReasonPodNotReady,
			sign: podFails, words: []string{"container app runs and is not ready"}, evidence: []string{"This pod is simulated"}},
		{number: "5", name: "cpu", wrapper: one(withPods("web", "", `containers: [{name: app, image: a, resources: {requests: {cpu: "1000"}}}]`)), state: progressing,
			reason: "Unschedulable", sign: podFails, words: []string{"it cannot be scheduled", "Insufficient cpu"}, evidence: []string{"FailedScheduling"}},
		{number: "6", name: "taint", wrapper: one(withPods("web", "", `containers: [{name: app, image: a}], nodeSelector: {e2e.fairlead.dev/reserved: `+taint+`}`)),
			state: progressing, reason: "Unschedulable", sign: podFails, words: []string{"untolerated taint"}, evidence: []string{"FailedScheduling"}},
		{number: "7", name: "quota", wrapper: one(withPods("web", "", `containers: [{name: app, image: a}]`)), state: degraded, reason: "FailedCreate",
			sign: conditionTrue("ReplicaSet.v1.apps", "ReplicaFailure"), words: []string{"its pods cannot be created", "exceeded quota: none"}, evidence: []string{"FailedCreate"}, prepare: allowNoPods},
		// The claim is the cause, and the pod that waits for it the consequence.
		{number: "8", name: "class", wrapper: one(claimOf("data", "no-such-class"),
			withPods("web", "", `containers: [{name: app, image: a}], volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]`)),
			state: degraded, reason: v1alpha1.ReasonClassNotFound, sign: created("PersistentVolumeClaim"), words: []string{"PersistentVolumeClaim data", "no StorageClass no-such-class"}, evidence: []string{"ProvisioningFailed"}},
		{number: "9", name: "provisioner", wrapper: one(claimOf("data", noVolumes)), state: progressing, reason: v1alpha1.ReasonClaimPending,
			sign: created("PersistentVolumeClaim"), words: []string{"PersistentVolumeClaim data", "waiting for nobody.example.com to provision a volume"}, evidence: []string{"ExternalProvisioning"}},
		{number: "9", name: "provisioner-fails", wrapper: one(claimOf("data", noVolumes)), state: degraded, reason: "ProvisioningFailed",
			sign: created("PersistentVolumeClaim"), words: []string{"PersistentVolumeClaim data", "quota of the project is used up"}, evidence: []string{"quota of the project is used up"}, prepare: failToProvision},
		{number: "10", name: "no-default", wrapper: build.Federated("web").To("member-2").With(build.Claim("data")), state: degraded,
			reason: v1alpha1.ReasonNoDefaultClass, sign: created("PersistentVolumeClaim"), words: []string{"no class of this cluster is the default"}, evidence: []string{"FailedBinding"}, prepare: withoutDefaultClass},
		twoDefaults(newDefault),
		{number: "11", name: "consumer", wrapper: one(claimOf("data", late)), state: v1alpha1.StateWaiting, reason: v1alpha1.ReasonWaitForFirstConsumer,
			sign: created("PersistentVolumeClaim"), words: []string{"provisions a volume when a pod uses the claim"}},
		{number: "20", name: "webhook", wrapper: one(build.ConfigMap("settings")), state: v1alpha1.StateStalled, reason: v1alpha1.ReasonRefused,
			words: []string{"ConfigMap settings", "not on a Friday"}, prepare: refuseConfigMaps},
		{number: "21", name: "crd", wrapper: one(custom("Nowhere", "none")), state: v1alpha1.StateWaiting, reason: v1alpha1.ReasonAPINotServed,
			words: []string{"Nowhere", "e2e.fairlead.dev/v1"}},
		{number: "21", name: "schema", wrapper: one(custom(gauge, "small")), state: v1alpha1.StateStalled, reason: v1alpha1.ReasonInvalid,
			words: []string{gauge + " small", "spec.size", "should be less than or equal to 0"}},
	}
}

// faultsOfOLM are the faults of operators.
func faultsOfOLM(ctx context.Context) []*fault {
	subscribed := func(namespace, pkg, channel, source, sourceNamespace, approval string, more ...*unstructured.Unstructured) *build.Builder[*v1alpha1.Federated] {
		return build.Federated("operator").In(namespace).To("member-1").With(more...).With(build.Manifest(`
{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: demo},
 spec: {name: %s, channel: %s, source: %s, sourceNamespace: %s, installPlanApproval: %s}}`, pkg, channel, source, sourceNamespace, approval))
	}
	own := func(bundle olm.Bundle) *build.Builder[*v1alpha1.Federated] {
		return subscribedToOwn(ctx, newShop(ctx), []string{"member-1"}, bundle).UpTo("demo", demoCSV(bundle.Version))
	}
	degraded := v1alpha1.StateDegraded
	var shops []string
	for range 6 {
		shops = append(shops, newShop(ctx))
	}
	gone := build.Manifest(`{apiVersion: operators.coreos.com/v1alpha1, kind: CatalogSource, metadata: {name: gone}, spec: {sourceType: grpc, address: "127.0.0.1:1"}}`)
	second := operatorGroup(shops[4])
	second.SetName("second")
	return []*fault{
		// The condition ResolutionFailed has no time.
		{number: "12", name: "package", wrapper: subscribed(shops[0], "no-such-package", "stable", "demo-catalog", "olm", "Automatic", operatorGroup(shops[0])),
			state: degraded, reason: "ResolutionFailed", sign: created("Subscription"), words: []string{"no operators found in package no-such-package"}},
		{number: "13", name: "channel", wrapper: subscribed(shops[1], demooperator.Name, "no-such-channel", "demo-catalog", "olm", "Automatic", operatorGroup(shops[1])),
			state: degraded, reason: "ResolutionFailed", sign: created("Subscription"), words: []string{"no operators found in channel no-such-channel"}},
		{number: "14", name: "catalog", wrapper: subscribed(shops[2], demooperator.Name, "stable", "gone", shops[2], "Automatic", operatorGroup(shops[2]), gone),
			state: degraded, reason: "TRANSIENT_FAILURE", sign: notConnected, words: []string{"CatalogSource gone", "127.0.0.1:1"}},
		{number: "15", name: "no-group", wrapper: subscribed(shops[3], demooperator.Name, "stable", "demo-catalog", "olm", "Automatic"),
			state: degraded, reason: v1alpha1.ReasonNoOperatorGroup, sign: created("Subscription"), words: []string{"Subscription demo", "no OperatorGroup"}},
		{number: "16", name: "two-groups", wrapper: subscribed(shops[4], demooperator.Name, "stable", "demo-catalog", "olm", "Automatic", operatorGroup(shops[4]), second),
			state: degraded, reason: v1alpha1.ReasonTooManyOperatorGroups, sign: created("Subscription"), words: []string{"Subscription demo", "more than one OperatorGroup"}},
		{number: "17", name: "requirements", wrapper: own(olm.Bundle{Version: "v1.0.0", MinKubeVersion: "99.0.0"}), state: v1alpha1.StateProgressing, reason: "RequirementsNotMet", sign: created(csvKind), words: []string{demoCSV("v1.0.0"), "minKubeVersion (99.0.0)"}, evidence: []string{"RequirementsNotMet"}},
		{number: "18", name: "operator", wrapper: own(olm.Bundle{Version: "v1.0.0", Crashes: true}), state: degraded, reason: "CrashLoopBackOff", sign: podFails, words: []string{"from its log: This pod is simulated"}, evidence: []string{"InstallSucceeded", "This pod is simulated"}},
		{number: "19", name: "approval", wrapper: subscribed(shops[5], demooperator.Name, "stable", "demo-catalog", "olm", "Manual", operatorGroup(shops[5])),
			state: v1alpha1.StateWaiting, reason: v1alpha1.ReasonApprovalRequired, sign: created(planKind), words: []string{"InstallPlan ", "waits for approval"}},
	}
}

// unreachableWithin bounds the time from the stop of a member's API server until the host tells it.
const unreachableWithin = 40 * time.Second

// allowNoPods makes the namespace on the member, open to the host, with a quota of no pods.
func allowNoPods(ctx context.Context, member *TestCluster, namespace string) {
	GinkgoHelper()
	member.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{v1alpha1.LabelOpen: "true"}}})
	noPods(ctx, member, namespace)
}

// noPods gives a namespace on the member a quota of no pods, and waits until the quota holds.
func noPods(ctx context.Context, member *TestCluster, namespace string) *unstructured.Unstructured {
	GinkgoHelper()
	quota := build.Manifest(`{apiVersion: v1, kind: ResourceQuota, metadata: {name: none, namespace: %s}, spec: {hard: {pods: "0"}}}`, namespace)
	member.create(ctx, quota)
	Eventually(ctx, member.field("ResourceQuota", namespace, "none", "status", "hard")).ShouldNot(BeNil())
	return quota
}

// withoutDefaultClass makes the member's default StorageClass an ordinary one until the end of the spec.
func withoutDefaultClass(ctx context.Context, member *TestCluster, _ string) {
	GinkgoHelper()
	classes := &storagev1.StorageClassList{}
	Expect(member.List(ctx, classes)).To(Succeed())
	for i := range classes.Items {
		class := &classes.Items[i]
		if class.Annotations[defaultClass] != "true" {
			continue
		}
		DeferCleanup(func(ctx SpecContext) {
			member.markDefault(ctx, class, "true")
			Eventually(ctx, factsOf(member.Name)).WithTimeout(factsWithin).Should(HaveField("DefaultStorageClasses", Equal([]string{class.Name})))
		}, NodeTimeout(2*factsWithin))
		member.markDefault(ctx, class, "false")
	}
}

// defaultClass is the annotation that makes a StorageClass the default.
const defaultClass = "storageclass.kubernetes.io/is-default-class"

// markDefault writes the annotation that makes a StorageClass of this member the default.
func (c *TestCluster) markDefault(ctx context.Context, class *storagev1.StorageClass, value string) {
	GinkgoHelper()
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, defaultClass, value)
	Expect(c.Patch(ctx, class, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
}

// newDefaultClass makes a second default StorageClass on the member until the end of the spec. It waits for the first consumer, so that a
// claim of it stays pending.
func (c *TestCluster) newDefaultClass(ctx context.Context, name, provisioner string) {
	GinkgoHelper()
	c.newClass(ctx, name, provisioner, storagev1.VolumeBindingWaitForFirstConsumer)
	c.markDefault(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}}, "true")
}

// twoDefaults returns the case of a claim without a class on member-3, which has two default classes. It is not a failure: the API server
// chooses the newer class, and the line names it.
func twoDefaults(newer string) *fault {
	return &fault{number: "10", name: "two-defaults", wrapper: build.Federated("web").To("member-3").With(build.Claim("data")),
		state: v1alpha1.StateWaiting, reason: v1alpha1.ReasonWaitForFirstConsumer, sign: created("PersistentVolumeClaim"),
		words: []string{"class " + newer + " provisions a volume when a pod uses the claim"}}
}

// failToProvision plays a provisioner that cannot make the volume of the claim data: the sandbox has no such provisioner.
func failToProvision(ctx context.Context, member *TestCluster, namespace string) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	DeferCleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		defer GinkgoRecover()
		Eventually(ctx, member.has("PersistentVolumeClaim", namespace, "data")).WithTimeout(olmPatience).Should(BeTrue())
		Expect(member.Create(ctx, provisioningFailed(member.claim(ctx, namespace, "data")))).To(Succeed())
	}()
}

// refuseConfigMaps makes the namespace on the member, with a webhook that refuses each new ConfigMap in it.
func refuseConfigMaps(ctx context.Context, member *TestCluster, namespace string) {
	GinkgoHelper()
	member.create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	member.validate(ctx, &admissionregistrationv1.ValidatingWebhook{
		Name: "friday.example.com", NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}}}},
		MatchConditions: []admissionregistrationv1.MatchCondition{{Name: "not-the-clusters-own", Expression: "object.metadata.name == 'settings'"}},
	}, func(context.Context) string { return "not on a Friday" })
}

var _ = Describe("The cause of a fault on a member", needsSimulation, needsOLM, needsProcesses, func() {
	It("is told at the host for each case in docs/troubleshooting.md, in the words of the member", func(ctx SpecContext) {
		member, taint, noVolumes, late, newDefault := fleet.Member("member-1"), unique("reserved"), unique("broken"), unique("late"), unique("newer")
		member.create(ctx, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: taint, Labels: map[string]string{"e2e.fairlead.dev/reserved": taint}},
			Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "reserved", Effect: corev1.TaintEffectNoSchedule}}},
		})
		member.newClass(ctx, noVolumes, "nobody.example.com", storagev1.VolumeBindingImmediate)
		member.newClass(ctx, late, simulated, storagev1.VolumeBindingWaitForFirstConsumer)
		fleet.Member("member-3").newDefaultClass(ctx, newDefault, simulated)
		gauge, plural := newKind("Gauge")
		member.create(ctx, gauges(gauge, plural, 0))
		for _, joined := range fleet.Members() {
			joined.grantDefaultsAnd(ctx, permissions.ProfileCatalogs, "e2e.fairlead.dev/"+plural)
		}
		faults := append(faultsOfPods(taint, noVolumes, late, newDefault, gauge), faultsOfOLM(ctx)...)
		expectTold(ctx, faults, olmPatience)
		byName := map[string]*fault{}
		for _, f := range faults {
			byName[f.name] = f
		}
		crash := byName["crash"].placed

		By("is shown by hostctl to a person with one role in one namespace")
		fleet.Host.create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: crash.Namespace, Name: "oncall"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-oncall"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "oncall"}},
		})
		person := kubeconfigAs("oncall")
		Eventually(ctx, func(g Gomega) { // the API server learns of a RoleBinding a moment later
			described := fleet.Hostctl(ctx, "describe", crash.Name, "-n", crash.Namespace, "--kubeconfig", person)
			g.Expect(described.Code).To(Equal(exit.Waits), described.Stderr)
			g.Expect(described.Stdout).To(And(ContainSubstring("1. CrashLoopBackOff on 1 member, Degraded: member-1"),
				ContainSubstring("from its log: This pod is simulated"), Not(ContainSubstring("may not list events"))))
		}).Should(Succeed())
		logs := fleet.Hostctl(ctx, "logs", crash.Name, "-n", crash.Namespace, "--kubeconfig", person)
		Expect(logs.Code).To(BeZero(), logs.Stderr)
		Expect(logs.Stdout).To(MatchRegexp(`(?m)^\[member-1/web-[^/]+/app\] This pod is simulated`))
		events := fleet.Hostctl(ctx, "events", crash.Name, "-n", crash.Namespace, "--kubeconfig", person)
		Expect(events.Code).To(BeZero(), events.Stderr)
		Expect(events.Stdout).To(And(ContainSubstring("ScalingReplicaSet"), ContainSubstring("member-1"), ContainSubstring("host")))
		operator := byName["operator"].placed
		Expect(fleet.Hostctl(ctx, "logs", operator.Name, "-n", operator.Namespace).Stdout).To(ContainSubstring("This pod is simulated"),
			"the log of an operator must be found from its Subscription")
		other := byName["quota"].placed
		for _, command := range []string{"describe", "logs", "events"} {
			Expect(fleet.Hostctl(ctx, command, other.Name, "-n", other.Namespace, "--kubeconfig", person)).To(And(
				HaveField("Code", Equal(exit.Failed)), HaveField("Stderr", ContainSubstring("forbidden"))))
		}

		By("is gone when the pods run")
		edit(ctx, crash, func(w *v1alpha1.Federated) {
			w.Spec.Objects[0] = build.Raw(withPods("web", "", `containers: [{name: app, image: "shop/app:10"}]`))
		})
		expectReady(ctx, crash)
		Eventually(ctx, reportsIn(ctx, crash.Namespace)).Should(BeEmpty())
	}, SpecTimeout(6*time.Minute))

	It("is told with its evidence after the pod is gone, the member does not answer, and the manager was restarted", func(ctx SpecContext) {
		shop, present, lost := newShop(ctx), fleet.Member("member-1"), fleet.Member("member-2")
		web := author(ctx, build.Federated("web").In(shop).To(present.Name, lost.Name).With(simulatedFailure("web", "CrashLoopBackOff")))
		Eventually(ctx, reportsIn(ctx, shop)).Should(ConsistOf(HaveField("Status.Clusters", ConsistOf(present.Name, lost.Name))),
			"members with the same fault must share a report")

		By("deleting the pod on a member whose quota lets no other pod replace it")
		pods := present.pods(ctx, shop, "web")
		Expect(pods).To(HaveLen(1))
		quota := noPods(ctx, present, shop)
		Expect(present.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(shop), client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(ctx, reread(ctx, web)).Should(haveLine(present.Name, v1alpha1.StateDegraded, "FailedCreate", "exceeded quota: none"))
		Expect(present.pods(ctx, shop, "web")).To(BeEmpty())

		fleet.Outage(ctx, lost.Name)
		stopped := time.Now()
		Eventually(ctx, reread(ctx, web)).WithTimeout(unreachableWithin).Should(haveLine(lost.Name, v1alpha1.StateUnreachable, v1alpha1.ReasonUnreachable))
		AddReportEntry(fmt.Sprintf("case 22: told %.1f s after the API server stopped", time.Since(stopped).Seconds()),
			fleet.Hostctl(ctx, "describe", web.Name, "-n", shop).Stdout)
		// logsOf checks that hostctl prints a log for a member, and returns the standard error of hostctl.
		logsOf := func(g Gomega, member, prefix string) string {
			logs := fleet.Hostctl(ctx, "logs", web.Name, "-n", shop, "--cluster", member)
			g.Expect(logs.Code).To(BeZero(), logs.Stderr)
			g.Expect(logs.Stdout).To(MatchRegexp(`(?m)^\[` + prefix + `/app\] This pod is simulated`))
			return logs.Stderr
		}
		shows := func(g Gomega) string {
			g.Expect(logsOf(g, present.Name, present.Name+"/"+pods[0].Name)).To(ContainSubstring("FailedCreate"))
			return logsOf(g, lost.Name, "member-[12]/web-[^/]+") // both members showed the same, so the host may have kept the log of either
		}
		logs := fleet.Hostctl(ctx, "logs", web.Name, "-n", shop, "--cluster", lost.Name)
		AddReportEntry("case 22: the last evidence of the member", logs.Stdout+logs.Stderr)
		Expect(shows(Default)).To(ContainSubstring("Unreachable"))

		By("still, after a restart of the manager")
		leader := fleet.Host.field("Lease.v1.coordination.k8s.io", v1alpha1.SystemNamespace, "fairlead-manager", "spec", "holderIdentity")
		before := leader(ctx)
		Expect(syscall.Kill(fleet.Manager(ctx).PID, syscall.SIGKILL)).To(Succeed())
		Eventually(ctx, leader).WithTimeout(afterKill).ShouldNot(Or(Equal(before), BeEmpty()))
		// Before the new manager has tried to read the member, the line says that it has not read the member yet, and not Unreachable.
		Eventually(ctx, shows).WithTimeout(afterKill).Should(ContainSubstring("Unreachable"))
		Consistently(ctx, shows).WithTimeout(3 * time.Second).ShouldNot(BeEmpty())

		By("until the member answers again and is well")
		Expect(fleet.Start(ctx, lost.Name)).To(Succeed())
		Expect(present.Delete(ctx, quota)).To(Succeed())
		edit(ctx, web, func(w *v1alpha1.Federated) {
			w.Spec.Objects[0] = build.Raw(withPods("web", "", `containers: [{name: app, image: "shop/app:10"}]`))
		})
		expectReady(ctx, web)
		Eventually(ctx, reportsIn(ctx, shop)).Should(BeEmpty())
	}, SpecTimeout(6*time.Minute))
})

// grantDefaultsAnd gives the member the default grants of hostctl join and these more, in place of the grant any, until the end of the spec.
// So the collector has to find the causes with the rights that these grants give it.
func (c *TestCluster) grantDefaultsAnd(ctx context.Context, more ...string) {
	GinkgoHelper()
	DeferCleanup(c.rejoin, permissions.ProfileAny)
	c.rejoin(ctx, strings.Join(append(permissions.DefaultGrants(), more...), ","))
}

// A failed assertion prints whole objects, and cuts them before the second one. Of a report this is what a reader needs.
var _ = format.RegisterCustomFormatter(func(value any) (string, bool) {
	r, ok := value.(v1alpha1.MemberReport)
	s := &r.Status
	return fmt.Sprintf("%s of %v, since %s: %s %s, %s: %s", r.Name, s.Clusters, r.CreationTimestamp.Format(time.RFC3339), s.Object.Kind, s.Object.Name, s.Reason, s.Message), ok
})

// reportsIn returns a function for Eventually that lists the MemberReports of a namespace.
func reportsIn(ctx context.Context, namespace string) func(Gomega) []v1alpha1.MemberReport {
	return func(g Gomega) []v1alpha1.MemberReport {
		list := &v1alpha1.MemberReportList{}
		g.Expect(fleet.Host.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		return list.Items
	}
}
