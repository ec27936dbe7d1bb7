// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

var _ = Describe("When a fleet of 3 × 50 wrappers is steady", Ordered, longFirst, ContinueOnFailure, func() {
	const wrappers = 50
	var (
		shop string
		all  []*v1alpha1.Federated
	)

	BeforeAll(func(ctx SpecContext) {
		deleteOrphans(ctx)
		shop = newShop(ctx)
		DeferCleanup(func(ctx SpecContext) {
			Expect(fleet.Host.DeleteAllOf(ctx, &v1alpha1.Federated{}, client.InNamespace(shop))).To(Succeed())
			Eventually(ctx, func() ([]v1alpha1.Federated, error) {
				list := &v1alpha1.FederatedList{}
				return list.Items, fleet.Host.List(ctx, list, client.InNamespace(shop))
			}).WithTimeout(time.Minute).Should(BeEmpty())
		})
		for i := range wrappers {
			w := build.Federated(fmt.Sprintf("web-%02d", i)).In(shop).ToMatching().With(
				build.ConfigMap(fmt.Sprintf("one-%02d", i), "colour", "blue"), build.ConfigMap(fmt.Sprintf("two-%02d", i), "colour", "blue")).Obj()
			Expect(fleet.Host.Create(ctx, w)).To(Succeed())
			all = append(all, w)
		}
		for _, w := range all {
			Eventually(ctx, reread(ctx, w)).WithTimeout(time.Minute).Should(beReady())
		}
		// The wrappers came in a burst, so they shared lists of intents. The manager deletes such a list when no new wrapper has come for some seconds.
		for _, member := range fleet.Members() {
			list := &v1alpha1.Delivery{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: marks.SharedIntents}}
			Eventually(ctx, member.lacks(list)).Should(BeTrue(), "the list of shared intents stays on %s", member.Name)
		}
	})

	It("a change costs a member one write for each changed object and one of its Delivery, or two without a collector that works", needsAuditLog, func(ctx SpecContext) {
		counting := startCounting()
		w := all[7]
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Objects[0] = build.Raw(build.ConfigMap("one-07", "colour", "green"))
		})
		expectReady(ctx, w)
		for _, a := range counting {
			name := a.cluster.delivery(ctx, w).Name
			object, record := "patch configmaps "+shop+"/one-07", "patch deliveries fairlead-system/"+name
			// A change takes one write of the object, and after it one of the Delivery, which records the change. Without a
			// recent heartbeat of the member's collector, the manager also writes the Delivery before the object (ADR 24).
			Eventually(ctx, a.writesFor).WithArguments(shop).Should(Or(ConsistOf(object, record), ConsistOf(object, record, record)))
		}
	})

	It("a change of fields that are not pushed costs a member nothing", needsAuditLog, func(ctx SpecContext) {
		counting := startCounting()
		w := all[8]
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.OnDelete = v1alpha1.KeepAll })
		expectReady(ctx, w)
		for _, a := range counting {
			Expect(a.writesFor(shop)).To(BeEmpty())
		}
	})

	It("heartbeats are the only writes on a member in 60 s", needsAuditLog, func(ctx SpecContext) {
		counting, host := startCounting(), fleet.Host.audit()
		Consistently(ctx, func() (writes []string) {
			for _, a := range counting {
				writes = append(writes, a.writes()...)
			}
			return writes
		}).WithTimeout(time.Minute).WithPolling(5 * time.Second).Should(BeEmpty())
		for _, a := range counting {
			Expect(len(a.requests(request.IsFairleads, request.IsHeartbeat))).To(BeNumerically("~", 1, 1), a.cluster.Name)
		}
		ofWrappers := host.requests(request.IsFairleads, request.IsWrite, func(r request) bool { return r.Object.Namespace == shop })
		Expect(inShort(ofWrappers)).To(BeEmpty(), "the manager must not write to the host for these wrappers either")
	}, SpecTimeout(2*time.Minute))

	It("a manager that was killed costs a member one LIST of Deliveries and no write", needsAuditLog, needsProcesses, func(ctx SpecContext) {
		before := fleet.Manager(ctx)
		counting := startCounting()
		Expect(syscall.Kill(before.PID, syscall.SIGKILL)).To(Succeed())
		lists := func(r request) bool {
			return r.Verb == "list" && r.Object.Resource == "deliveries" && strings.HasPrefix(r.UserAgent, "fairlead-manager/")
		}
		for _, a := range counting {
			Eventually(ctx, func() []request { return a.requests(request.IsFairleads, lists) }).
				WithTimeout(90*time.Second).ShouldNot(BeEmpty(), a.cluster.Name)
		}
		Expect(fleet.Manager(ctx).PID).NotTo(Equal(before.PID))

		By("serving a new wrapper, which shows that the manager has reconciled all wrappers")
		w := author(ctx, build.Federated("after").In(shop).ToMatching().With(build.ConfigMap("after")))
		expectReady(ctx, w)
		for _, a := range counting {
			Expect(a.requests(request.IsFairleads, lists)).To(HaveLen(1), a.cluster.Name)
			name := a.cluster.delivery(ctx, w).Name
			Eventually(ctx, a.writesFor).WithArguments(shop).Should(ConsistOf(
				"create deliveries fairlead-system/"+name, "patch configmaps "+shop+"/after", "patch deliveries fairlead-system/"+name))
		}
		for _, w := range all {
			Expect(reread(ctx, w)(Default)).To(beReady())
		}
	}, SpecTimeout(4*time.Minute))
})

// deleteOrphans deletes the Deliveries that earlier specs left on members. The collector still writes the status of these
// Deliveries, and a spec that expects no write on a member would count those writes.
//
// It first waits until the namespaces that earlier specs have deleted on the host are gone. While such a namespace is
// terminating, its wrappers exist. Afterwards their Deliveries are orphans, because the manager removes nothing from members
// if a wrapper is deleted only because its namespace is deleted.
func deleteOrphans(ctx SpecContext) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) (terminating []string) {
		namespaces := &corev1.NamespaceList{}
		g.Expect(fleet.Host.List(ctx, namespaces)).To(Succeed())
		for _, n := range namespaces.Items {
			if n.DeletionTimestamp != nil {
				terminating = append(terminating, n.Name)
			}
		}
		return terminating
	}).WithTimeout(time.Minute).Should(BeEmpty(), "namespaces that earlier specs have deleted on the host")
	wrappers, scoped := &v1alpha1.FederatedList{}, &v1alpha1.ClusterFederatedList{}
	Expect(fleet.Host.List(ctx, wrappers)).To(Succeed())
	Expect(fleet.Host.List(ctx, scoped)).To(Succeed())
	exists := sets.New[types.UID]()
	for _, w := range wrappers.Items {
		exists.Insert(w.UID)
	}
	for _, w := range scoped.Items {
		exists.Insert(w.UID)
	}
	for _, member := range fleet.Members() {
		deliveries := &v1alpha1.DeliveryList{}
		Expect(member.List(ctx, deliveries)).To(Succeed())
		for _, d := range deliveries.Items {
			if !exists.Has(d.Spec.Wrapper.UID) {
				AddReportEntry("an orphan of an earlier spec", member.Name+": "+d.Name, ReportEntryVisibilityNever)
				Expect(client.IgnoreNotFound(member.Delete(ctx, &d))).To(Succeed())
			}
		}
	}
}

// startCounting returns a mark at the present end of each member's audit log.
func startCounting() []*auditMark {
	var all []*auditMark
	for _, c := range fleet.Members() {
		all = append(all, c.audit())
	}
	return all
}
