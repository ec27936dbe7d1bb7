// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
	"github.com/fairlead-dev/fairlead/test/e2e/provider/kindclusters"
)

// joining returns the command that joins a member with the labels it has in the fleet, and with the collector inside the manager. The
// member is Ready at once then. A collector in a process or pod of its own would report only at its next heartbeat.
func joining(name string, more ...string) []string {
	i, _ := strconv.Atoi(strings.TrimPrefix(name, "member-")) // the suite names its members member-N
	place := sandbox.PlaceOf(i)
	return slices.Concat([]string{
		"join", name, "--cluster-context", name, "--allow", "any", "--namespaces", "All", "--collector", "Host", "--labels",
		fmt.Sprintf("cloud=%s,topology.kubernetes.io/region=%s,topology.kubernetes.io/zone=%s", place.Cloud, place.Region, place.Zones[0]),
	}, atAddress(name), more)
}

// atAddress returns the option of hostctl join with the address at which the host reaches a cluster. With the sandbox this is the address in
// the kubeconfig, so there is no option.
func atAddress(name string) []string {
	if clusters, ok := fleet.Provider.(*kindclusters.Clusters); ok {
		return []string{"--server", clusters.InNetwork.Address(name)}
	}
	return nil
}

// hostctlWrites returns hostctl's writes to the cluster since the mark, sorted. Access reviews are no writes.
func (a *auditMark) hostctlWrites() []string {
	GinkgoHelper()
	return inShort(a.requests(request.IsWrite, func(r request) bool {
		return strings.HasPrefix(r.UserAgent, "hostctl/") && !strings.HasSuffix(r.Object.Resource, "reviews")
	}))
}

// registered returns a MemberCluster with only its name, into which a client can read.
func registered(name string) *v1alpha1.MemberCluster {
	return &v1alpha1.MemberCluster{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "MemberCluster"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}
}

// asAtFirst adds the option for the collector with which the provider joins members: with kind it is a Deployment on the member, and with
// the sandbox a process that the supervisor runs.
func asAtFirst(command []string) []string {
	if fleet.Sandbox == nil {
		return append(command, "--collector", "Member")
	}
	return append(command, "--collector", "External")
}

// rejoin joins the member again with these grants, the namespace policy All, and the collector of the provider.
func (c *TestCluster) rejoin(ctx context.Context, allow string) {
	GinkgoHelper()
	command := append([]string{"join", c.Name, "--cluster-context", c.Name, "--allow", allow, "--namespaces", "All"}, atAddress(c.Name)...)
	run := fleet.Hostctl(ctx, asAtFirst(command)...)
	Expect(run.Code).To(BeZero(), run.Stderr)
}

// rejoinAfter joins the member again after the spec, as the provider had joined it. With the sandbox it restarts the collector: during
// the spec the member's API server refused the collector, which would try again only after minutes.
func rejoinAfter(name string) {
	DeferCleanup(func(ctx SpecContext) {
		if fleet.Sandbox == nil {
			Expect(fleet.Hostctl(ctx, asAtFirst(joining(name))...)).To(HaveField("Code", 0))
			return
		}
		Expect(fleet.Hostctl(ctx, joining(name)...)).To(HaveField("Code", 0))
		collector := fleet.Process(ctx, name, sandbox.CollectorProcess)
		Expect(syscall.Kill(collector.PID, syscall.SIGTERM)).To(Succeed())
		Expect(fleet.Hostctl(ctx, asAtFirst(joining(name))...)).To(HaveField("Code", 0))
		Expect(fleet.Sandbox.WaitReady(ctx, name, sandbox.CollectorProcess)).To(Succeed())
	})
}

// expectNothingOfFairlead waits until the member has none of Fairlead's own objects: CRDs, namespace and grants.
func expectNothingOfFairlead(ctx context.Context, c *TestCluster) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		for kind, names := range map[string][]string{
			"CustomResourceDefinition": {"deliveries." + v1alpha1.Group, "memberships." + v1alpha1.Group},
			"Namespace":                {v1alpha1.SystemNamespace},
		} {
			for _, name := range names {
				g.Expect(c.fetch(ctx, kind, "", name)).To(BeNil(), "%s %s", kind, name)
			}
		}
		roles, bindings := &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}
		g.Expect(c.List(ctx, roles)).To(Succeed())
		for _, r := range roles.Items {
			g.Expect(r.Name).NotTo(HavePrefix("fairlead"))
		}
		g.Expect(c.List(ctx, bindings)).To(Succeed())
		for _, b := range bindings.Items {
			g.Expect(b.Name).NotTo(HavePrefix("fairlead"))
		}
	}).Should(Succeed())
}

var _ = Describe("When a member is joined again", func() {
	It("finds nothing to write", needsAuditLog, needsProcesses, func(ctx SpecContext) {
		again := asAtFirst(joining("member-3"))
		Expect(fleet.Hostctl(ctx, again...)).To(HaveField("Code", 0)) // the sandbox may come from a run of an earlier build, whose join wrote something else
		host, member := fleet.Host.audit(), fleet.Member("member-3").audit()
		crds := []string{"deliveries." + v1alpha1.Group, "memberships." + v1alpha1.Group}
		var before, after, patches []string
		for _, crd := range crds {
			before = append(before, member.cluster.version(ctx, "CustomResourceDefinition", "", crd))
			patches = append(patches, "patch customresourcedefinitions /"+crd)
		}
		got := fleet.Hostctl(ctx, again...)
		Expect(got.Code).To(BeZero())
		Expect(got.Stderr).To(ContainSubstring("Nothing had to be written."))
		Expect(host.hostctlWrites()).To(BeEmpty())
		Expect(member.hostctlWrites()).To(Equal(patches), "join applies the CRDs again, and nothing else")
		for _, crd := range crds {
			after = append(after, member.cluster.version(ctx, "CustomResourceDefinition", "", crd))
		}
		Expect(after).To(Equal(before))
	})

	It("repairs what an interrupted join or another person has left", func(ctx SpecContext) {
		member := fleet.Member("member-3")
		rejoinAfter(member.Name)
		ours := func(name string) metav1.ObjectMeta {
			return metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: name}
		}
		breaks := map[string]struct {
			cluster *TestCluster
			obj     client.Object
		}{
			"the Membership":     {member, &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}},
			"the Secret":         {fleet.Host, &corev1.Secret{ObjectMeta: ours(member.Name)}},
			"the host's role":    {member, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: permissions.HostAccount}}},
			"the host's account": {member, &corev1.ServiceAccount{ObjectMeta: ours(permissions.HostAccount)}},
		}
		for what, b := range breaks {
			By(what + " being gone")
			Expect(b.cluster.Delete(ctx, b.obj)).To(Succeed())
			got := fleet.Hostctl(ctx, joining(member.Name)...)
			Expect(got.Code).To(BeZero(), got.Stderr)
			Expect(b.cluster.lacks(b.obj)(ctx)).To(BeFalse(), what)
			Expect(reread(ctx, registered(member.Name))(Default)).To(
				haveCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonReady), what)
		}
		w := author(ctx, build.Federated("after").In(newShop(ctx)).To(member.Name).With(build.ConfigMap("after")))
		expectReady(ctx, w)
	})

	It("is refused if it belongs to another host, and names that host", needsAuditLog, func(ctx SpecContext) {
		member := fleet.Member("member-3")
		rejoinAfter(member.Name)
		m := &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}
		owned := func(ctx context.Context, host v1alpha1.HostIdentity) {
			GinkgoHelper()
			Expect(member.Get(ctx, keyOf(m), m)).To(Succeed())
			before := m.DeepCopy()
			m.Spec.Host = host
			Expect(member.Patch(ctx, m, client.MergeFrom(before))).To(Succeed())
		}
		Expect(member.Get(ctx, keyOf(m), m)).To(Succeed())
		ours := m.Spec.Host
		DeferCleanup(func(ctx SpecContext) { owned(ctx, ours) })
		owned(ctx, v1alpha1.HostIdentity{UID: types.UID("0f6f3f9e-0000-4000-8000-000000000000"), Name: "atlantis"})

		counting := member.audit()
		got := fleet.Hostctl(ctx, joining(member.Name)...)
		Expect(got.Code).To(Equal(1))
		Expect(got.Stderr).To(And(ContainSubstring("atlantis"), ContainSubstring(member.Name)))
		Expect(counting.hostctlWrites()).To(BeEmpty())
		Eventually(ctx, reread(ctx, registered(member.Name))).WithTimeout(40 * time.Second).Should(
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonOtherHost))
	})
})

var _ = Describe("When a member is unjoined", func() {
	// settled returns a wrapper that is Ready on member-3, its only member, and the resourceVersion of its object there.
	settled := func(ctx SpecContext) (w *v1alpha1.Federated, version string) {
		GinkgoHelper()
		w = author(ctx, build.Federated("settings").In(newShop(ctx)).To("member-3").With(build.ConfigMap("settings", "colour", "blue")))
		expectReady(ctx, w)
		return w, fleet.Member("member-3").version(ctx, "ConfigMap", w.Namespace, "settings")
	}
	expectStays := func(ctx SpecContext, w *v1alpha1.Federated, version string) {
		GinkgoHelper()
		there := fleet.Member("member-3").fetch(ctx, "ConfigMap", w.Namespace, "settings")
		Expect(there).NotTo(BeNil(), "workloads stay")
		Expect(there.GetResourceVersion()).To(Equal(version))
		Expect(there.GetLabels()).To(HaveKeyWithValue(v1alpha1.LabelUID, string(w.UID)))
	}

	It("keeps workloads and labels, loses Fairlead's own objects, and is adopted without a write when it joins again", func(ctx SpecContext) {
		member := fleet.Member("member-3")
		w, version := settled(ctx)
		rejoinAfter(member.Name)
		Expect(fleet.Hostctl(ctx, "unjoin", member.Name, "--yes")).To(HaveField("Code", 0))
		Expect(fleet.Host.lacks(registered(member.Name))(ctx)).To(BeTrue())
		Expect(fleet.Host.has("Secret", v1alpha1.SystemNamespace, member.Name)(ctx)).To(BeFalse())
		expectStays(ctx, w, version)
		expectNothingOfFairlead(ctx, member)
		Eventually(ctx, reread(ctx, w)).Should(haveCondition(v1alpha1.ConditionPlaced, metav1.ConditionFalse, v1alpha1.ReasonClusterNotFound))

		rehearsal := fleet.Hostctl(ctx, joining(member.Name, "--dry-run")...)
		Expect(rehearsal.Code).To(BeZero(), rehearsal.Stderr)
		Expect(rehearsal.Stderr).To(ContainSubstring("Nothing was written."))
		Expect(fleet.Host.lacks(registered(member.Name))(ctx)).To(BeTrue())
		expectNothingOfFairlead(ctx, member)

		Expect(fleet.Hostctl(ctx, joining(member.Name)...)).To(HaveField("Code", 0))
		expectReady(ctx, w)
		expectStays(ctx, w, version)
		Expect(member.delivery(ctx, w).Spec.Inventory[0].State).To(Equal(v1alpha1.EntryApplied))
	})

	It("does the same after kubectl delete memberclusters", func(ctx SpecContext) {
		member := fleet.Member("member-3")
		w, version := settled(ctx)
		rejoinAfter(member.Name)
		Expect(fleet.Kubectl(ctx, "delete", "memberclusters", member.Name, "--timeout=30s")).To(HaveField("Code", 0))
		expectStays(ctx, w, version)
		expectNothingOfFairlead(ctx, member)
		Expect(fleet.Host.has("Secret", v1alpha1.SystemNamespace, member.Name)(ctx)).To(BeFalse())
	})

	It("is forgotten with --forget when it does not answer, and can be joined again", func(ctx SpecContext) {
		member := fleet.Member("member-3")
		w, version := settled(ctx)
		rejoinAfter(member.Name)
		fleet.Outage(ctx, member.Name)
		Expect(fleet.Hostctl(ctx, "unjoin", member.Name, "--forget", "--yes")).To(HaveField("Code", 0))
		Expect(fleet.Host.lacks(registered(member.Name))(ctx)).To(BeTrue())
		Expect(fleet.Start(ctx, member.Name)).To(Succeed())
		expectStays(ctx, w, version)
		Expect(fleet.Hostctl(ctx, joining(member.Name)...)).To(HaveField("Code", 0))
		expectReady(ctx, w)
		expectStays(ctx, w, version)
	})
})

var _ = Describe("When the host is its own member", func() {
	It("gets pushes like any other member, and keeps the host's parts when it is unjoined", func(ctx SpecContext) {
		join := append([]string{"join", "self", "--cluster-context", "host", "--allow", "any", "--namespaces", "All"}, atAddress(provider.Host)...)
		Expect(fleet.Hostctl(ctx, join...)).To(HaveField("Code", 0))
		DeferCleanup(func(ctx SpecContext) {
			Expect(client.IgnoreNotFound(fleet.Host.Delete(ctx, registered("self")))).To(Succeed())
			Eventually(ctx, fleet.Host.lacks(registered("self"))).Should(BeTrue())
		})
		w := author(ctx, build.Federated("settings").In(newShop(ctx)).To("self", "member-1").With(build.ConfigMap("settings", "colour", "blue")))
		expectReady(ctx, w)
		Expect(fleet.Host.field("ConfigMap", w.Namespace, "settings", "data", "colour")(ctx)).To(Equal("blue"))

		Expect(fleet.Hostctl(ctx, "unjoin", "self", "--yes")).To(HaveField("Code", 0))
		Expect(fleet.Host.has("ConfigMap", w.Namespace, "settings")(ctx)).To(BeTrue())
		for _, crd := range []string{"federateds", "clusterfederateds", "memberclusters"} {
			Expect(fleet.Host.has("CustomResourceDefinition", "", crd+"."+v1alpha1.Group)(ctx)).To(BeTrue(), crd)
		}
		Expect(fleet.Host.fetch(ctx, "Namespace", "", v1alpha1.SystemNamespace).GetDeletionTimestamp()).To(BeNil())
		Expect(fleet.Host.has("Secret", v1alpha1.SystemNamespace, "member-1")(ctx)).To(BeTrue())
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Placement.Clusters.Names = []string{"member-1"}
			w.Spec.Objects[0] = build.Raw(build.ConfigMap("settings", "colour", "green"))
		})
		expectReady(ctx, w)
		Expect(fleet.Member("member-1").field("ConfigMap", w.Namespace, "settings", "data", "colour")(ctx)).To(Equal("green"))
	})
})
