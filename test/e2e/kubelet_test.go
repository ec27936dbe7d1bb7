// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
	"github.com/fairlead-dev/fairlead/test/e2e/provider/kindclusters"
)

// podsWithin bounds the start of pods. All nodes share one small machine.
const podsWithin = 3 * time.Minute

// specWithin bounds one spec with pods.
const specWithin = 10 * time.Minute

// withKubelets does the same as Describe, but only with a provider that has kubelets. Without kubelets no pod really runs.
func withKubelets(text string, body func()) bool {
	if provider.Chosen() != provider.Kind {
		return true
	}
	return Describe(text, Label("kubelet"), body)
}

// onKind returns the provider as kind's clusters, for the methods that the interface Provider does not have.
func onKind() *kindclusters.Clusters {
	GinkgoHelper()
	clusters, ok := fleet.Provider.(*kindclusters.Clusters)
	Expect(ok).To(BeTrue(), "this spec needs clusters of kind")
	return clusters
}

// running returns a Deployment whose pods run the program of test/e2e/pod with these arguments.
func running(name string, args ...string) *unstructured.Unstructured {
	return build.Manifest(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  progressDeadlineSeconds: 20
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [%[2]s]
`, name, probed(container(args...)))
}

// probed adds a readiness probe to a container in YAML. Without one, the kubelet reports a container as ready whenever it runs, even
// between two crashes.
func probed(container string) string {
	return with(container, "readinessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1}")
}

// with adds fields, as the content of an inline map of YAML, to a container that the function container returns.
func with(container, fields string) string {
	return strings.TrimSuffix(container, "}") + ", " + fields + "}"
}

// container returns a container as an inline map of YAML. It runs the program of test/e2e/pod with these arguments.
func container(args ...string) string {
	return fmt.Sprintf(`{name: app, image: %q, imagePullPolicy: Never, args: ["%s"]}`, kindclusters.PodImage, strings.Join(args, `","`))
}

// pods returns the pods on this member that have the label app with this value.
func (c *TestCluster) pods(ctx context.Context, namespace, app string) []corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(c.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{"app": app})).To(Succeed())
	return list.Items
}

// phases returns a function for Eventually that lists the phases of an app's pods, without those that are being deleted.
func (c *TestCluster) phases(namespace, app string) func(context.Context) []corev1.PodPhase {
	return func(ctx context.Context) []corev1.PodPhase {
		var all []corev1.PodPhase
		for _, pod := range c.pods(ctx, namespace, app) {
			if pod.DeletionTimestamp == nil {
				all = append(all, pod.Status.Phase)
			}
		}
		return all
	}
}

var sumLine = regexp.MustCompile(`sha256 ([0-9a-f]{64})`)

// sum waits until the app's pod has printed the digest of its data, and returns the digest.
func (c *TestCluster) sum(ctx context.Context, namespace, app string) string {
	GinkgoHelper()
	var sum string
	Eventually(ctx, func(g Gomega) {
		logs := fleet.Kubectl(ctx, "--context", c.Name, "-n", namespace, "logs", "-l", "app="+app, "--tail=-1")
		found := sumLine.FindStringSubmatch(logs.Stdout)
		g.Expect(found).NotTo(BeNil(), logs.Stdout+logs.Stderr)
		sum = found[1]
	}).WithTimeout(podsWithin).WithPolling(time.Second).Should(Succeed())
	return sum
}

// expectReadySoon does the same as expectReady, but waits for up to podsWithin, because pods have to start.
func expectReadySoon(ctx context.Context, wrappers ...build.ClientWrapper) {
	GinkgoHelper()
	for _, w := range wrappers {
		Eventually(ctx, reread(ctx, w)).WithTimeout(podsWithin).Should(beReady())
	}
}
