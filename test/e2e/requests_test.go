// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// startHostctl starts hostctl. The function interrupt sends SIGINT to hostctl, as Ctrl-C does, waits until hostctl has ended, and returns
// the exit code.
func (f *TestFleet) startHostctl(args ...string) (stdout, stderr *gbytes.Buffer, interrupt func() int) {
	GinkgoHelper()
	kubeconfig, err := f.Kubeconfig("")
	Expect(err).NotTo(HaveOccurred())
	stdout, stderr = gbytes.NewBuffer(), gbytes.NewBuffer()
	cmd := exec.Command(filepath.Join(f.repo, "bin", "hostctl"), args...)
	cmd.Env = slices.Concat(os.Environ(), f.Environment(), []string{"KUBECONFIG=" + kubeconfig})
	cmd.Stdout, cmd.Stderr = stdout, stderr
	Expect(cmd.Start()).To(Succeed())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the exit code tells
	}()
	DeferCleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
		GinkgoWriter.Printf("$ hostctl %q\n%s%s", args, stdout.Contents(), stderr.Contents())
	})
	return stdout, stderr, func() int {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended; the exit code then tells
		Eventually(ended).Should(BeClosed())
		return cmd.ProcessState.ExitCode()
	}
}

// log adds a line to the log of each simulated container of a member. After the spec it takes the line away.
func (f *TestFleet) log(member, line string) {
	GinkgoHelper()
	cluster, err := f.Sandbox.Cluster(member)
	Expect(err).NotTo(HaveOccurred())
	file, err := os.OpenFile(filepath.Join(cluster.Dir, "pod.log"), os.O_APPEND|os.O_WRONLY, 0)
	Expect(err).NotTo(HaveOccurred())
	before, err := file.Stat()
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(os.Truncate(file.Name(), before.Size())).To(Succeed()) })
	_, err = file.WriteString(time.Now().UTC().Format("2006-01-02T15:04:05.000000000Z") + " stdout F " + line + "\n")
	Expect(err).NotTo(HaveOccurred())
	Expect(file.Close()).To(Succeed())
}

var _ = Describe("When a person asks about an object that is healthy", needsSimulation, func() {
	It("gets its log and its events, with one role in one namespace and without access to a member", func(ctx SpecContext) {
		shop, other := newShop(ctx), newShop(ctx)
		web := author(ctx, build.Federated("web").In(shop).To("member-1").With(deployment("web", "")))
		theirs := author(ctx, build.Federated("web").In(other).To("member-1").With(deployment("web", "")))
		expectReady(ctx, web, theirs)
		fleet.Host.create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "oncall"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-oncall"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: shop}},
		})
		person := kubeconfigAs(shop)
		ask := func(ctx context.Context, args ...string) Run {
			return fleet.Hostctl(ctx, append(args, "-n", shop, "--kubeconfig", person, "--object", "Deployment/web")...)
		}
		const line = `\[member-1/web-[^/]+/app\] This pod is simulated`

		By("sees its log")
		Eventually(ctx, func(g Gomega) { // the API server learns of a RoleBinding a moment later
			logs := ask(ctx, "logs", "web")
			g.Expect(logs.Code).To(BeZero(), logs.Stderr)
			g.Expect(logs.Stdout).To(MatchRegexp(`(?m)^` + line))
		}).Should(Succeed())

		By("sees its events")
		events := ask(ctx, "events", "web")
		Expect(events.Code).To(BeZero(), events.Stderr)
		Expect(events.Stdout).To(And(ContainSubstring("ScalingReplicaSet"), ContainSubstring("member-1")))

		By("sees further lines while it follows the log")
		stdout, stderr, interrupt := fleet.startHostctl("logs", "web", "-n", shop, "--kubeconfig", person, "--object", "Deployment/web", "-f")
		Eventually(ctx, stdout).Should(gbytes.Say(line))
		Expect(fleet.Member("member-1").delivery(ctx, web).Spec.Requests).To(ConsistOf(And(HaveField("Name", "web"), HaveField("Type", v1alpha1.EvidenceLogs))))
		fleet.log("member-1", "A further line.")
		Eventually(ctx, stdout).Should(gbytes.Say(`\[member-1/web-[^/]+/app\] A further line\.`), string(stderr.Contents()))
		edit(ctx, web, func(w *v1alpha1.Federated) {
			more := deployment("web", "")
			more.Object["spec"].(map[string]any)["replicas"] = int64(2)
			w.Spec.Objects[0] = build.Raw(more)
		})
		Eventually(ctx, stdout).Should(gbytes.Say(line), string(stderr.Contents()))
		Expect(interrupt()).To(BeZero(), string(stderr.Contents()))
		lines := slices.Sorted(strings.Lines(string(stdout.Contents())))
		Expect(slices.Compact(slices.Clone(lines))).To(Equal(lines), "hostctl must print each line of each container once")
		Expect(reportsIn(ctx, shop)(Default)).To(BeEmpty(), "hostctl must delete its requests before it ends")

		By("leaves nothing behind")
		Eventually(ctx, func(g Gomega) {
			delivery := fleet.Member("member-1").delivery(ctx, web)
			g.Expect(delivery.Spec.Requests).To(BeEmpty())
			g.Expect(delivery.Status.Answers).To(BeEmpty())
		}).Should(Succeed())
		expectReady(ctx, web)

		By("gets nothing of another namespace")
		Expect(fleet.Hostctl(ctx, "logs", "web", "-n", other, "--kubeconfig", person, "--object", "Deployment/web")).To(And(
			HaveField("Code", Equal(exit.Failed)), HaveField("Stderr", ContainSubstring("forbidden"))))
		stolen := fleet.KubectlWith(ctx, fmt.Sprintf(`
apiVersion: federation.fairlead.dev/v1alpha1
kind: MemberReport
metadata: {name: stolen, namespace: %s}
spec:
  wrapper: {kind: Federated, name: web, uid: %s}
  request: Logs
  cluster: member-1
  object: {group: apps, kind: Deployment, name: web}
  expires: %q
`, shop, theirs.UID, time.Now().Add(time.Minute).UTC().Format(time.RFC3339)), "--kubeconfig", person, "create", "-f", "-")
		Expect(stolen.Code).To(BeZero(), stolen.Stderr)
		report := &v1alpha1.MemberReport{}
		Eventually(ctx, func(g Gomega) {
			g.Expect(fleet.Host.Get(ctx, client.ObjectKey{Namespace: shop, Name: "stolen"}, report)).To(Succeed())
			g.Expect(report.Status.Reason).To(Equal(v1alpha1.ReasonWrapperNotFound))
		}).Should(Succeed())
		Expect(report.Status.Containers).To(BeEmpty())
		Expect(fleet.Member("member-1").delivery(ctx, theirs).Spec.Requests).To(BeEmpty())
	}, SpecTimeout(2*time.Minute))
})
