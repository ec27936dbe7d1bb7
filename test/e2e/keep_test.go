// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// told are what the events of one reason say of a wrapper.
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

var _ = Describe("When what a member loses would take claims along", func() {
	It("has a StatefulSet let go of its claims before it goes", func(ctx SpecContext) {
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
		Eventually(ctx, owners).Should(HaveLen(1), "its controller makes the claim its own")
		remove(ctx, w)
		Expect(member.has("StatefulSet.v1.apps", shop, "db")(ctx)).To(BeFalse())
		Expect(member.has("ConfigMap", shop, "db")(ctx)).To(BeFalse())
		claim := member.fetch(ctx, "PersistentVolumeClaim", shop, "data-db-0")
		Expect(claim).NotTo(BeNil())
		Expect(claim.GetDeletionTimestamp()).To(BeNil())
		Expect(claim.GetOwnerReferences()).To(BeEmpty())
	})

	It("leaves the custom resource whose operator made them, says why, and a wrapper made anew takes it back", func(ctx SpecContext) {
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
