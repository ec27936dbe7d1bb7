// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
)

// expectAlerts fails unless exactly these alerts fire if the fleet stays as two scrapes of the manager show it.
func expectAlerts(ctx context.Context, before, after string, alerts ...string) {
	GinkgoHelper()
	said, err := monitoring(ctx, append([]string{"alerts", saved(before), saved(after)}, alerts...)...)
	Expect(err).NotTo(HaveOccurred(), said)
}

// webhookFailures scrapes the host's API server, and returns the metric of requests that it refused because of a webhook.
func webhookFailures(ctx context.Context) string {
	GinkgoHelper()
	config, err := fleet.RESTConfig(provider.Host)
	Expect(err).NotTo(HaveOccurred())
	connection, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	all, err := connection.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	var text strings.Builder
	for line := range strings.Lines(string(all)) {
		if strings.Contains(line, "apiserver_admission_webhook_rejection_count") { // one line in a hundred
			text.WriteString(line)
		}
	}
	return text.String()
}

// Each alert fires because of a real fault. Only the time is short: Prometheus's engine evaluates the rules as if what the two scrapes
// show went on for longer than each alert waits.
var _ = Describe("The alerts", needsProcesses, needsOpenMembers, func() {
	membersAreReady := func(ctx SpecContext) {
		for _, name := range fleet.MemberNames() {
			mc := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
			Eventually(ctx, reread(ctx, mc)).WithTimeout(afterKill).Should(haveCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, ""))
		}
	}
	BeforeEach(func(ctx SpecContext) {
		membersAreReady(ctx)
		DeferCleanup(membersAreReady) // this runs after the spec's own cleanups
	})

	It("do not fire while all is well", func(ctx SpecContext) {
		expectReady(ctx, author(ctx, build.Federated("well").In(newShop(ctx)).ToMatching().With(build.ConfigMap("well"))))
		Eventually(ctx, func(g Gomega) { // a queue may have an entry at the moment of a scrape
			text := scrape(ctx)
			said, err := monitoring(ctx, "alerts", saved(text), saved(text))
			g.Expect(err).NotTo(HaveOccurred(), said)
		}).WithTimeout(upWithin).Should(Succeed())
	}, NodeTimeout(2*upWithin)) // the first run compiles Prometheus's engine

	It("fire when a member is stopped, refuses objects, answers no writes, has no collector, or another client undoes repairs there", func(ctx SpecContext) {
		refusing, hanging, contested := newShop(ctx), newShop(ctx), newShop(ctx)
		m1, m2 := fleet.Member("member-1"), fleet.Member("member-2")
		w := author(ctx, build.Federated("contested").In(contested).To(m1.Name).With(build.ConfigMap("contested", "colour", "blue")))
		expectReady(ctx, w)
		refuseConfigMaps(ctx, m1, refusing)
		m2.create(ctx, build.Namespace(hanging))
		m2.hang(ctx, "", "v1", "configmaps", hanging, 30)
		before := scrape(ctx)
		timedOut, refused := `fairlead_pushes_total{member="member-2",result="error"}`, `fairlead_rejected_applies_total{member="member-1",reason="Refused"}`
		was := []float64{metric(timedOut)(ctx), metric(refused)(ctx)}

		fleet.Outage(ctx, "member-3")
		breakCollector(ctx, m2.Name)
		author(ctx, build.Federated("hanging").In(hanging).To(m2.Name).With(build.ConfigMap("settings")))
		author(ctx, build.Federated("refused").In(refusing).To(m1.Name).With(build.ConfigMap("settings")))
		condition := func(name, member string) string {
			return fmt.Sprintf("fairlead_member_condition{condition=%q,member=%q}", name, member)
		}
		Eventually(ctx, func(g Gomega) {
			if m1.field("ConfigMap", contested, "contested", "data", "colour")(ctx) == "blue" {
				m1.setData(ctx, contested, "contested", "colour", "red", "somebody")
			}
			g.Expect(metric(`fairlead_contested_pairs{member="member-1"}`)(ctx)).To(BeEquivalentTo(1))
			g.Expect(metric(`fairlead_pairs{member="member-1",state="Stalled"}`)(ctx)).To(BeNumerically(">=", 2))
			g.Expect(metric(refused)(ctx)).To(BeNumerically(">", was[1]))
			g.Expect(metric(timedOut)(ctx)).To(BeNumerically(">", was[0]))
			g.Expect(metric(condition("CollectorReady", m2.Name))(ctx)).To(BeZero())
			g.Expect(metric(condition("Reachable", "member-3"))(ctx)).To(BeZero())
		}).WithTimeout(2 * within).Should(Succeed())
		expectAlerts(ctx, before, scrape(ctx), "FairleadPairsInTrouble",
			`FairleadMemberUnreachable{member="member-3"}`, `FairleadCollectorNotReady{member="member-2"}`,
			`FairleadAppliesRejected{member="member-1",reason="Refused"}`, `FairleadDriftContested{member="member-1"}`,
			`FairleadPushQueueNotDraining{member="member-2"}`, `FairleadPushesSlow{member="member-2"}`)
	}, SpecTimeout(5*time.Minute))

	It("fire when a member refuses the host's token, or its renewal", func(ctx SpecContext) {
		forbidSecrets(ctx, fleet.Member("member-1"))
		before := scrape(ctx)
		changeSecret(ctx, "member-1", map[string]string{v1alpha1.SecretToken: agedToken(ctx, "member-1", 25*24*time.Hour)})
		changeSecret(ctx, "member-2", map[string]string{v1alpha1.SecretToken: "nonsense"})
		soon := float64(time.Now().Add(6 * 24 * time.Hour).Unix())
		Eventually(ctx, metric(`fairlead_member_credentials_expire_timestamp_seconds{member="member-1"}`)).WithTimeout(within).Should(BeNumerically("<", soon))
		Eventually(ctx, metric(`fairlead_member_condition{condition="CredentialsValid",member="member-2"}`)).WithTimeout(within).Should(BeZero())
		expectAlerts(ctx, before, scrape(ctx), `FairleadCredentialsExpireSoon{member="member-1",account="fairlead-host"}`, `FairleadCredentialsRefused{member="member-2"}`)
	})

	It("fire when a member has an older or a newer collector", func(ctx SpecContext) {
		before := scrape(ctx)
		skews := map[string]string{}
		for name, version := range map[string]string{"member-1": "v0.0.0-dev.20000101000000", "member-2": "v99.0.0"} {
			skews[name] = fmt.Sprintf("fairlead_member_version_skew{member=%q}", name)
			member := fleet.Member(name)
			collector := fleet.Process(ctx, name, sandbox.CollectorProcess).PID
			DeferCleanup(func(ctx SpecContext) { // the collector writes its own version again
				_ = syscall.Kill(collector, syscall.SIGCONT)
				Eventually(ctx, metric(skews[name])).WithTimeout(afterKill).Should(BeZero())
			})
			Expect(syscall.Kill(collector, syscall.SIGSTOP)).To(Succeed())
			status := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"collectorVersion":%q}}`, version))
			Expect(member.Status().Patch(ctx, &v1alpha1.Membership{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.MembershipName}}, status)).To(Succeed())
		}
		// The manager takes minutes until it misses the heartbeats of the paused collectors.
		Eventually(ctx, metric(skews["member-1"])).WithTimeout(2 * within).Should(BeEquivalentTo(-1))
		Eventually(ctx, metric(skews["member-2"])).WithTimeout(2 * within).Should(BeEquivalentTo(1))
		expectAlerts(ctx, before, scrape(ctx), `FairleadVersionSkew{member="member-1"}`, `FairleadVersionSkew{member="member-2"}`)
	})

	It("fire when the host answers no writes of a status", func(ctx SpecContext) {
		shop := newShop(ctx)
		var all []*v1alpha1.Federated
		DeferCleanup(func(ctx SpecContext) { // after the webhook is gone
			for _, w := range all {
				remove(ctx, w)
			}
		})
		waiting, failed := metric(`workqueue_depth{controller="Federated",name="Federated",priority="0"}`), metric(`controller_runtime_reconcile_total{controller="Federated",result="error"}`)
		was := failed(ctx)
		fleet.Host.hang(ctx, v1alpha1.Group, "v1alpha1", "federateds/status", shop, 2)
		Eventually(ctx, func(ctx context.Context) error { // until the API server calls the webhook
			w := build.Federated(fmt.Sprintf("first-%d", len(all))).In(shop).To("member-1").With(build.ConfigMap("settings")).Obj()
			Expect(fleet.Host.Create(ctx, w)).To(Succeed())
			all = append(all, w)
			patch := client.RawPatch(types.MergePatchType, []byte(`{}`)) // a webhook is asked about it, too
			return fleet.Host.Status().Patch(ctx, w, patch, client.DryRunAll)
		}).Should(MatchError(ContainSubstring("hangs.example.com")))
		for i := range 12 { // more than the loop has workers
			w := build.Federated(fmt.Sprintf("w-%02d", i)).In(shop).To("member-1").With(build.ConfigMap("settings")).Obj()
			Expect(fleet.Host.Create(ctx, w)).To(Succeed())
			all = append(all, w)
		}
		Eventually(ctx, failed).Should(BeNumerically(">", was)) // the API server calls the webhook by now
		Eventually(ctx, waiting).Should(BeNumerically(">", 0))
		before := scrape(ctx)
		was = failed(ctx)
		Eventually(ctx, failed).Should(BeNumerically(">", was))
		expectAlerts(ctx, before, scrape(ctx), `FairleadReconcileQueueNotDraining{controller="Federated"}`)
	})

	It("fire when the manager is paused", func(ctx SpecContext) {
		shop := newShop(ctx)
		before := webhookFailures(ctx)
		manager := fleet.Manager(ctx).PID
		DeferCleanup(func() { _ = syscall.Kill(manager, syscall.SIGCONT) })
		Expect(syscall.Kill(manager, syscall.SIGSTOP)).To(Succeed())
		Expect(scrapeWithin(ctx, time.Second)).Error().To(HaveOccurred())
		w := build.Federated("refused").In(shop).To("member-1").With(build.ConfigMap("settings")).Obj()
		Expect(fleet.Host.Create(ctx, w)).To(MatchError(ContainSubstring("failed calling webhook")))
		Expect(syscall.Kill(manager, syscall.SIGCONT)).To(Succeed())
		expectAlerts(ctx, before, webhookFailures(ctx), "FairleadManagerAbsent", "FairleadWebhooksNotAnswering")
		Eventually(ctx, metric(`leader_election_master_status{name="fairlead-manager"}`)).WithTimeout(afterKill).Should(BeEquivalentTo(1))
	})
})
