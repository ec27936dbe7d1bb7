// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// told returns a function for Eventually that lists the notes of the wrapper's events with this reason.
func told(shop, wrapper, reason string) func(context.Context) []string {
	return func(ctx context.Context) []string {
		GinkgoHelper()
		list := &eventsv1.EventList{}
		Expect(fleet.Host.List(ctx, list, client.InNamespace(shop))).To(Succeed())
		var notes []string
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.Name == wrapper && e.Reason == reason {
				notes = append(notes, e.Note)
			}
		}
		return notes
	}
}

var _ = Describe("When a removal on a member would delete claims", func() {
	It("makes a StatefulSet retain its claims before it is deleted", needsSimulation, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		w := author(ctx, build.Federated("db").In(shop).To(member.Name).With(build.ConfigMap("db"), build.Manifest(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: simulated}]}}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`)))
		owners := func(ctx context.Context) []metav1.OwnerReference {
			if claim := member.fetch(ctx, "PersistentVolumeClaim", shop, "data-db-0"); claim != nil {
				return claim.GetOwnerReferences()
			}
			return nil
		}
		Eventually(ctx, owners).Should(HaveLen(1), "the StatefulSet's controller must become an owner of the claim")
		remove(ctx, w)
		Expect(member.has("StatefulSet.v1.apps", shop, "db")(ctx)).To(BeFalse())
		Expect(member.has("ConfigMap", shop, "db")(ctx)).To(BeFalse())
		claim := member.fetch(ctx, "PersistentVolumeClaim", shop, "data-db-0")
		Expect(claim).NotTo(BeNil())
		Expect(claim.GetDeletionTimestamp()).To(BeNil())
		Expect(claim.GetOwnerReferences()).To(BeEmpty())
	})

	It("keeps the custom resource whose operator made the claims, reports why, and a new wrapper adopts it", needsSimulation, needsOpenMembers, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-2")
		crd := build.CRD("Store", "stores")
		member.create(ctx, crd)
		kind := "Store.v1." + strings.SplitN(crd.GetName(), ".", 2)[1]
		store := func() *build.Builder[*v1alpha1.Federated] {
			return build.Federated("store").In(shop).To(member.Name).With(build.ConfigMap("store"),
				build.Manifest("{apiVersion: %s/v1, kind: Store, metadata: {name: store}}", strings.SplitN(crd.GetName(), ".", 2)[1]))
		}
		w := author(ctx, store())
		expectReady(ctx, w)
		there := member.fetch(ctx, kind, shop, "store")
		claim := build.Claim("made-by-the-operator")
		claim.SetNamespace(shop)
		claim.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: there.GetAPIVersion(), Kind: there.GetKind(), Name: there.GetName(), UID: there.GetUID()}})
		Expect(member.Create(ctx, claim)).To(Succeed())

		remove(ctx, w)
		Expect(member.has("ConfigMap", shop, "store")(ctx)).To(BeFalse())
		Expect(member.fetch(ctx, kind, shop, "store").GetDeletionTimestamp()).To(BeNil())
		Eventually(ctx, told(shop, "store", v1alpha1.ReasonKept)).Should(ContainElement(And(
			ContainSubstring(member.Name), ContainSubstring("Store store"), ContainSubstring("PersistentVolumeClaim made-by-the-operator"))))

		again := author(ctx, store())
		expectReady(ctx, again)
		back := member.fetch(ctx, kind, shop, "store")
		Expect(back.GetUID()).To(Equal(there.GetUID()))
		Expect(back.GetLabels()).To(HaveKeyWithValue(v1alpha1.LabelUID, string(again.GetUID())))
	})
})

var _ = Describe("When a deleted wrapper leaves more objects on members than one event can name", func() {
	It("reports each member, and hostctl kept lists all these objects", func(ctx SpecContext) {
		shop := newShop(ctx)
		bundle := func() *v1alpha1.Federated {
			b := build.Federated("many").In(shop).ToMatching().With(build.ConfigMap("plain"))
			for i := range 60 {
				b = b.With(build.Kept(build.ConfigMap(fmt.Sprintf("a-rather-long-name-of-an-object-%02d", i)), "true"))
			}
			return author(ctx, b)
		}
		w := bundle()
		expectReady(ctx, w)
		nothing := hostctlNearMembers(ctx, "kept", "many", "-n", shop)
		Expect(nothing).To(And(HaveField("Code", exit.Done), HaveField("Stdout", BeEmpty())), "the wrapper still owns all its objects, so hostctl kept must list none")

		remove(ctx, w)
		var notes []any
		for _, name := range fleet.MemberNames() {
			notes = append(notes, HavePrefix("60 objects stay on member %s (`hostctl kept many -n %s` lists all); 60:", name, shop))
		}
		Eventually(ctx, told(shop, "many", v1alpha1.ReasonKept)).Should(ConsistOf(notes...))
		kept := hostctlNearMembers(ctx, "kept", "many", "-n", shop)
		Expect(kept.Code).To(Equal(exit.Done), kept.Stderr)
		lines := strings.Split(strings.TrimSpace(kept.Stdout), "\n")
		Expect(lines).To(HaveLen(1 + 60*len(fleet.MemberNames())))
		for _, name := range fleet.MemberNames() {
			Expect(kept.Stdout).To(MatchRegexp(name + ` +configmaps/a-rather-long-name-of-an-object-59 +annotated `))
		}
		one := hostctlNearMembers(ctx, "kept", "many", "-n", shop, "--cluster", "member-2")
		Expect(strings.Count(one.Stdout, "member-2 ")).To(Equal(60))
		Expect(one.Stdout).NotTo(ContainSubstring("member-1"))

		By("creating the wrapper again, which adopts all these objects")
		expectReady(ctx, bundle())
		Expect(hostctlNearMembers(ctx, "kept", "many", "-n", shop).Stdout).To(BeEmpty())
	}, SpecTimeout(3*time.Minute))
})
