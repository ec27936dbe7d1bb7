// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// tokenCache is the longest time for which an API server still accepts a revoked token: it caches the result of a token review.
const tokenCache = 10 * time.Second

// An API server does not end a watch when its token expires: it goes on sending events, and refuses only new requests.
var _ = Describe("When the host's credentials for a member", func() {
	var (
		lost   *TestCluster
		member *v1alpha1.MemberCluster
		w      *v1alpha1.Federated
	)

	BeforeEach(func(ctx SpecContext) {
		lost = fleet.Member("member-2")
		member = &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: lost.Name}}
		w = author(ctx, build.Federated("settings").In(newShop(ctx)).To(lost.Name).With(build.ConfigMap("settings", "colour", "blue")))
		expectReady(ctx, w)
	})

	// served checks both directions: the manager pushes a change to the member, and its watch of Deliveries gets the
	// objects' state from there.
	served := func(ctx SpecContext, colour string) {
		GinkgoHelper()
		Eventually(ctx, reread(ctx, member)).WithTimeout(within).Should(haveCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, ""))
		edit(ctx, w, func(w *v1alpha1.Federated) {
			w.Spec.Objects[0] = build.Raw(build.ConfigMap("settings", "colour", colour))
		})
		expectReady(ctx, w)
		Expect(lost.field("ConfigMap", w.Namespace, "settings", "data", "colour")(ctx)).To(Equal(colour))
		Expect(lost.Delete(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "settings"}})).To(Succeed())
		Eventually(ctx, lost.field("ConfigMap", w.Namespace, "settings", "data", "colour")).WithTimeout(within).Should(Equal(colour))
	}

	It("are revoked on the member, the status says so, and a join repairs it without a restart", func(ctx SpecContext) {
		managers := managerProcesses(ctx)
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: permissions.HostAccount}}
		Expect(lost.Delete(ctx, account)).To(Succeed())
		Eventually(ctx, reread(ctx, member)).WithTimeout(within + tokenCache).Should(And(
			haveCondition(v1alpha1.ConditionCredentialsValid, metav1.ConditionFalse, v1alpha1.ReasonUnauthorized),
			haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonUnauthorized)))
		Eventually(ctx, reread(ctx, w)).Should(haveCondition(v1alpha1.ConditionReady, metav1.ConditionFalse, ""))
		Expect(lost.has("ConfigMap", w.Namespace, "settings")(ctx)).To(BeTrue())

		Expect(fleet.Hostctl(ctx, asAtFirst(joining(lost.Name))...)).To(HaveField("Code", 0))
		served(ctx, "green")
		Expect(managerProcesses(ctx)).To(Equal(managers))
	})

	It("are replaced by wrong ones or deleted, the status says so, and pushes resume when they are put back", func(ctx SpecContext) {
		managers := managerProcesses(ctx)
		secret := &corev1.Secret{}
		Expect(fleet.Host.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: lost.Name}, secret)).To(Succeed())
		good := secret.DeepCopy()
		good.ResourceVersion, good.UID, good.ManagedFields = "", "", nil

		secret.Data[v1alpha1.SecretToken] = []byte("nonsense")
		Expect(fleet.Host.Update(ctx, secret)).To(Succeed())
		Eventually(ctx, reread(ctx, member)).WithTimeout(within).Should(
			haveCondition(v1alpha1.ConditionCredentialsValid, metav1.ConditionFalse, v1alpha1.ReasonUnauthorized))

		Expect(fleet.Host.Delete(ctx, secret)).To(Succeed())
		Eventually(ctx, reread(ctx, member)).WithTimeout(within).Should(
			haveCondition(v1alpha1.ConditionCredentialsValid, metav1.ConditionFalse, v1alpha1.ReasonCredentialsMissing))
		Expect(lost.has("ConfigMap", w.Namespace, "settings")(ctx)).To(BeTrue())

		Expect(fleet.Host.Create(ctx, good)).To(Succeed())
		served(ctx, "green")
		Expect(managerProcesses(ctx)).To(Equal(managers))
	})
})
