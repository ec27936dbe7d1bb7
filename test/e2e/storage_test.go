// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// simulated is the provisioner of the sandbox's simulated volumes.
const simulated = "sandbox.fairlead.dev/simulated"

// claimOf returns a PersistentVolumeClaim with this spec.storageClassName. "" is a value too: no class, as opposed to the default class.
func claimOf(name, class string) *unstructured.Unstructured {
	GinkgoHelper()
	claim := build.Claim(name)
	Expect(unstructured.SetNestedField(claim.Object, class, "spec", "storageClassName")).To(Succeed())
	return claim
}

// claim reads a PersistentVolumeClaim of this member.
func (c *TestCluster) claim(ctx context.Context, namespace, name string) *corev1.PersistentVolumeClaim {
	GinkgoHelper()
	claim := &corev1.PersistentVolumeClaim{}
	Expect(c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, claim)).To(Succeed())
	return claim
}

// resize plays the volume resizer, which the sandbox does not have: it sets the sizes of the claim's volume and of the claim to the
// requested size.
func (c *TestCluster) resize(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	claim := c.claim(ctx, namespace, name)
	size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	volume := &corev1.PersistentVolume{}
	Expect(c.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, volume)).To(Succeed())
	grown := volume.DeepCopy()
	grown.Spec.Capacity[corev1.ResourceStorage] = size
	Expect(c.Patch(ctx, grown, client.MergeFrom(volume))).To(Succeed())
	filled := claim.DeepCopy()
	filled.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: size}
	Expect(c.Status().Patch(ctx, filled, client.MergeFrom(claim))).To(Succeed())
}

// newClass creates a StorageClass on this member only.
func (c *TestCluster) newClass(ctx context.Context, name, provisioner string, mode storagev1.VolumeBindingMode) {
	GinkgoHelper()
	c.create(ctx, &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &mode})
}

// provisioningFailed returns the event that a provisioner writes when it cannot make the volume of a claim.
func provisioningFailed(claim *corev1.PersistentVolumeClaim) *corev1.Event {
	now := metav1.Now()
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: unique(claim.Name)},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
		Type: corev1.EventTypeWarning, Reason: "ProvisioningFailed", Message: "quota of the project is used up",
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
}

var _ = Describe("Storage", func() {
	It("binds a claim without a class on each member's default, and is Ready when all are bound", needsSimulation, func(ctx SpecContext) {
		shop := newShop(ctx)
		data := author(ctx, build.Federated("data").In(shop).ToMatching().With(build.Claim("data")))
		expectReady(ctx, data)
		for _, member := range fleet.Members() {
			claim := member.claim(ctx, shop, "data")
			Expect(claim.Status.Phase).To(Equal(corev1.ClaimBound), member.Name)
			Expect(claim.Spec.StorageClassName).To(HaveValue(Equal(member.Name + "-standard")))
		}
	})

	It("expands a claim in place after an edit of the wrapper, and refuses to shrink it", needsSimulation, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		data := author(ctx, build.Federated("data").In(shop).To("member-1").With(build.Claim("data")))
		expectReady(ctx, data)
		before := member.claim(ctx, shop, "data")
		Expect(before.Status.Capacity.Storage().String()).To(Equal("1Gi"))

		grown := build.Claim("data")
		Expect(unstructured.SetNestedField(grown.Object, "2Gi", "spec", "resources", "requests", "storage")).To(Succeed())
		edit(ctx, data, func(w *v1alpha1.Federated) { w.Spec.Objects[0] = build.Raw(grown) })
		requested := func(ctx context.Context) string {
			return member.claim(ctx, shop, "data").Spec.Resources.Requests.Storage().String()
		}
		Eventually(ctx, requested).Should(Equal("2Gi"))
		member.resize(ctx, shop, "data")
		expectReady(ctx, data)
		after := member.claim(ctx, shop, "data")
		Expect(after.UID).To(Equal(before.UID))
		Expect(after.Status.Capacity).To(HaveKeyWithValue(corev1.ResourceStorage, resource.MustParse("2Gi")))

		edit(ctx, data, func(w *v1alpha1.Federated) { w.Spec.Objects[0] = build.Raw(build.Claim("data")) })
		Eventually(ctx, reread(ctx, data)).Should(haveLine("member-1", v1alpha1.StateStalled, v1alpha1.ReasonInvalid,
			"PersistentVolumeClaim data", "spec.resources.requests.storage", "can not be less than"))
		Expect(requested(ctx)).To(Equal("2Gi"), "the claim must keep its size, and must not be replaced")
		Expect(member.claim(ctx, shop, "data").UID).To(Equal(before.UID))
	})

	It("does not report an expansion on the member as drift, repairs real drift, and keeps pushing", needsSimulation, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		data := author(ctx, build.Federated("data").In(shop).To("member-1").With(build.Claim("data"), build.ConfigMap("settings", "colour", "blue")))
		expectReady(ctx, data)
		before := member.claim(ctx, shop, "data")
		grown := before.DeepCopy()
		grown.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("3Gi")
		Expect(member.Patch(ctx, grown, client.MergeFrom(before))).To(Succeed())
		member.resize(ctx, shop, "data")

		// Before the next push, the manager repairs drift of another object of the same wrapper. The repair must not touch the claim.
		settings := member.fetch(ctx, "ConfigMap", shop, "settings")
		Expect(unstructured.SetNestedField(settings.Object, "red", "data", "colour")).To(Succeed())
		Expect(member.Update(ctx, settings)).To(Succeed())
		Eventually(ctx, member.field("ConfigMap", shop, "settings", "data", "colour")).Should(Equal("blue"))
		// A later push must not shrink or delete the claim either. expectReady waits for a status that the manager writes after
		// the repair and the push.
		edit(ctx, data, func(w *v1alpha1.Federated) {
			w.Spec.Objects[1] = build.Raw(build.ConfigMap("settings", "colour", "green"))
		})
		Eventually(ctx, member.field("ConfigMap", shop, "settings", "data", "colour")).Should(Equal("green"))
		expectReady(ctx, data)
		Expect(member.claim(ctx, shop, "data").Spec.Resources.Requests.Storage().String()).To(Equal("3Gi"))
		Expect(lineOf(data, "member-1").Reason).To(BeEmpty())
	})

	It("is Waiting for a claim of class \"\" until a person makes a volume, and the reason says so", needsSimulation, func(ctx SpecContext) {
		shop, member := newShop(ctx), fleet.Member("member-1")
		data := author(ctx, build.Federated("data").In(shop).To("member-1").With(claimOf("data", "")))
		Eventually(ctx, reread(ctx, data)).Should(And(
			haveLine("member-1", v1alpha1.StateWaiting, v1alpha1.ReasonClaimPending, "PersistentVolumeClaim data", `class ""`),
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonClaimPending)))
		volume := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: shop},
			Spec: corev1.PersistentVolumeSpec{
				Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
				AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/nowhere"}},
				ClaimRef:               &corev1.ObjectReference{Namespace: shop, Name: "data"},
			},
		}
		Expect(member.Create(ctx, volume)).To(Succeed())
		// Cleanups run in reverse order. So this cleanup runs before the one of newShop, which deletes the namespace with the claim.
		DeferCleanup(func(ctx SpecContext) { Expect(member.Delete(ctx, volume)).To(Succeed()) })
		expectReady(ctx, data)
	})

	It("names a class that a member lacks, serves the other members, and binds the claim when the class exists", needsSimulation, func(ctx SpecContext) {
		shop, class := newShop(ctx), unique("fast")
		fleet.Member("member-1").newClass(ctx, class, simulated, storagev1.VolumeBindingImmediate)
		data := author(ctx, build.Federated("data").In(shop).To("member-1", "member-2").With(claimOf("data", class)))
		Eventually(ctx, reread(ctx, data)).Should(And(
			haveLine("member-1", v1alpha1.StateHealthy, ""),
			haveLine("member-2", v1alpha1.StateDegraded, v1alpha1.ReasonClassNotFound, "no StorageClass "+class, "override")))
		fleet.Member("member-2").newClass(ctx, class, simulated, storagev1.VolumeBindingImmediate)
		expectReady(ctx, data)
	})

	It("is Waiting for a claim whose class waits for its first consumer, until a pod uses the claim", needsSimulation, func(ctx SpecContext) {
		shop, member, class := newShop(ctx), fleet.Member("member-1"), unique("late")
		member.newClass(ctx, class, simulated, storagev1.VolumeBindingWaitForFirstConsumer)
		data := author(ctx, build.Federated("data").In(shop).To("member-1").With(claimOf("data", class)))
		Eventually(ctx, reread(ctx, data)).Should(haveLine("member-1", v1alpha1.StateWaiting, v1alpha1.ReasonWaitForFirstConsumer,
			"class "+class+" provisions a volume when a pod uses the claim"))
		member.create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "consumer"},
			Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1"}},
				Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}},
			},
		})
		expectReady(ctx, data)
	})

	It("has the provisioner's message when it cannot provision", needsSimulation, func(ctx SpecContext) {
		shop, member, class := newShop(ctx), fleet.Member("member-1"), unique("broken")
		member.newClass(ctx, class, "nobody.example.com", storagev1.VolumeBindingImmediate)
		data := author(ctx, build.Federated("data").In(shop).To("member-1").With(claimOf("data", class)))
		Eventually(ctx, reread(ctx, data)).Should(haveLine("member-1", v1alpha1.StateProgressing, v1alpha1.ReasonClaimPending,
			"waiting for nobody.example.com to provision a volume"))
		member.create(ctx, provisioningFailed(member.claim(ctx, shop, "data")))
		Eventually(ctx, reread(ctx, data)).Should(haveLine("member-1", v1alpha1.StateDegraded, "ProvisioningFailed", "quota of the project is used up"))
	})

	It("gives a StorageClass another provisioner on each cloud, and refuses to change it in place", func(ctx SpecContext) {
		name := unique("tiered")
		class := build.Kept(build.StorageClass(name), "false")
		tiered := author(ctx, build.ClusterFederated(name).ToMatching().With(class).Overriding(overridesFrom(`
- clusters: {selectors: [{matchLabels: {cloud: aws}}]}
  target: {kind: StorageClass}
  merge: {provisioner: ebs.csi.aws.com, parameters: {type: gp3}}
- clusters: {selectors: [{matchLabels: {cloud: gcp}}]}
  target: {kind: StorageClass}
  merge: {provisioner: pd.csi.storage.gke.io}
`)...))
		expectReady(ctx, tiered)
		for member, provisioner := range map[string]string{
			"member-1": "ebs.csi.aws.com", "member-2": "pd.csi.storage.gke.io", "member-3": "nobody.example.com",
		} {
			Expect(fleet.Member(member).field("StorageClass", "", name, "provisioner")(ctx)).To(Equal(provisioner), member)
			Eventually(ctx, factsOf(member)).WithTimeout(factsWithin).Should(HaveField("StorageClasses", ContainElement(name)))
		}
		uid := fleet.Member("member-1").fetch(ctx, "StorageClass", "", name).GetUID()

		edit(ctx, tiered, func(w *v1alpha1.ClusterFederated) {
			w.Spec.Overrides[0].Merge = build.JSON(map[string]any{"provisioner": "ebs.csi.aws.com", "parameters": map[string]any{"type": "io2"}})
		})
		Eventually(ctx, reread(ctx, tiered)).Should(And(
			haveLine("member-1", v1alpha1.StateStalled, v1alpha1.ReasonImmutableField, "StorageClass "+name, "parameters"),
			haveLine("member-2", v1alpha1.StateHealthy, "")))
		Expect(fleet.Member("member-1").fetch(ctx, "StorageClass", "", name).GetUID()).To(Equal(uid))
	})
})
