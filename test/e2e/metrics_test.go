// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// scrape returns what the sandbox's manager serves at /metrics, as Prometheus reads it.
func scrape(ctx context.Context) string {
	GinkgoHelper()
	text, err := scrapeWithin(ctx, patience)
	Expect(err).NotTo(HaveOccurred())
	return text
}

// scrapeWithin does the same as scrape, and returns an error if the manager does not answer within this time.
func scrapeWithin(ctx context.Context, wait time.Duration) (string, error) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	port, err := fleet.Sandbox.Port(ctx, sandbox.HostName, sandbox.ManagerMetricsPort)
	Expect(err).NotTo(HaveOccurred())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+strconv.Itoa(port)+"/metrics", nil)
	Expect(err).NotTo(HaveOccurred())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return "", err
	}
	Expect(res.StatusCode).To(Equal(http.StatusOK), string(text))
	return string(text), nil
}

// metric returns a function that scrapes the manager and returns the value of one series; -1 if there is no such series.
func metric(series string) func(ctx context.Context) float64 {
	return func(ctx context.Context) float64 {
		GinkgoHelper()
		for line := range strings.Lines(scrape(ctx)) {
			if text, found := strings.CutPrefix(line, series+" "); found {
				value, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
				Expect(err).NotTo(HaveOccurred())
				return value
			}
		}
		return -1
	}
}

// saved writes a scrape into a file, and returns its path.
func saved(text string) string {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "metrics.txt")
	Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	return file
}

// monitoring runs Prometheus's engine in hack/monitoring, and returns what it prints. The first run compiles the engine.
func monitoring(ctx context.Context, args ...string) (said string, err error) {
	GinkgoHelper()
	program := exec.CommandContext(ctx, "go", append([]string{"run", "."}, args...)...)
	program.Dir = filepath.Join(fleet.repo, "hack/monitoring")
	text, err := program.CombinedOutput()
	GinkgoWriter.Printf("$ monitoring %s\n%s", strings.Join(args, " "), text)
	return string(text), err
}

var _ = Describe("When Prometheus scrapes the manager", needsProcesses, func() {
	It("counts pushes, drift, refusals and pairs of a member", func(ctx SpecContext) {
		web := func(app string) *unstructured.Unstructured { // the selector is immutable
			return build.Manifest(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, spec: {replicas: 0, selector: {matchLabels: {app: %[1]s}},
  template: {metadata: {labels: {app: %[1]s}}, spec: {containers: [{name: web, image: simulated}]}}}}`, app)
		}
		of := func(name string, labels string) string { return name + `{member="member-1"` + labels + `}` }
		counted := []string{
			of("fairlead_pushes_total", `,result="done"`), of("fairlead_push_duration_seconds_count", ""), of("fairlead_delivery_writes_total", ""),
		}
		before := map[string]float64{}
		for _, series := range counted {
			before[series] = metric(series)(ctx)
			Expect(before[series]).To(BeNumerically(">=", 0), series)
		}
		shop, member := newShop(ctx), fleet.Member("member-1")
		w := author(ctx, build.Federated("measured").In(shop).To(member.Name).With(build.ConfigMap("a", "colour", "blue"), web("one")))
		expectReady(ctx, w)
		for _, series := range counted {
			Eventually(ctx, metric(series)).Should(BeNumerically(">", before[series]), series)
		}
		for _, condition := range []string{"Reachable", "CredentialsValid", "CollectorReady", "Ready"} {
			Expect(metric(`fairlead_member_condition{condition="`+condition+`",member="member-1"}`)(ctx)).To(BeEquivalentTo(1), condition)
		}
		Expect(metric(of("fairlead_pushes_stopped", ""))(ctx)).To(BeZero())
		Expect(metric(of("fairlead_push_queue_depth", ""))(ctx)).To(BeNumerically(">=", 0))

		drift := `fairlead_drift_repairs_total{kind="Changed",member="member-1"}`
		repaired := metric(drift)(ctx)
		member.setData(ctx, shop, "a", "colour", "red", "somebody")
		Eventually(ctx, metric(drift)).Should(BeNumerically(">", repaired))

		refused := of("fairlead_rejected_applies_total", `,reason="ImmutableField"`)
		refusals := metric(refused)(ctx)
		edit(ctx, w, func(w *v1alpha1.Federated) { w.Spec.Objects[1] = build.Raw(web("two")) })
		Eventually(ctx, metric(refused)).Should(BeNumerically(">", refusals))
		Eventually(ctx, metric(of("fairlead_pairs", `,state="Stalled"`))).Should(BeNumerically(">=", 1))
		Expect(metric(`fairlead_wrappers{kind="Federated",ready="False"}`)(ctx)).To(BeNumerically(">=", 1))
	})

	It("has every metric that docs/operations/monitoring.md lists, and a result for each rule and each query of a dashboard", func(ctx SpecContext) {
		w := author(ctx, build.Federated("measured").In(newShop(ctx)).To("member-1").With(build.ConfigMap("a")))
		expectReady(ctx, w)
		text := scrape(ctx)
		listed, err := os.ReadFile(filepath.Join(fleet.repo, "docs/operations/monitoring.md"))
		Expect(err).NotTo(HaveOccurred())
		names := regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(string(listed), -1)
		Expect(len(names)).To(BeNumerically(">", 10))
		var missing []string
		for _, name := range names {
			if !strings.Contains(text, "# TYPE "+name[1]+" ") {
				missing = append(missing, name[1])
			}
		}
		// These metrics have no series here: no other client undoes the manager's repairs again and again, the collectors of the
		// sandbox run outside the manager, and the last one is of the host's API server.
		Expect(missing).To(ConsistOf("fairlead_contested_pairs", "fairlead_member_collector_token_expire_timestamp_seconds", "apiserver_admission_webhook_rejection_count"),
			"the documentation lists a metric that the manager does not export")
		for _, found := range regexp.MustCompile(`(?m)^# TYPE (fairlead_[a-z_]+) `).FindAllStringSubmatch(text, -1) {
			Expect(string(listed)).To(ContainSubstring("| `"+found[1]+"` |"), "the documentation does not list a metric that the manager exports")
		}

		said, err := monitoring(ctx, "scrape", saved(text))
		Expect(err).NotTo(HaveOccurred(), said)
	}, NodeTimeout(upWithin)) // the first run compiles Prometheus's engine
})
