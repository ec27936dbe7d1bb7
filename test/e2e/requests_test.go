// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// following is `hostctl logs -f` while it runs.
type following struct {
	cmd            *exec.Cmd
	stdout, stderr *gbytes.Buffer
}

// follow starts hostctl. After the spec it kills hostctl, if the spec has not ended it.
func (f *TestFleet) follow(args ...string) *following {
	GinkgoHelper()
	run := &following{exec.Command(filepath.Join(f.repo, "bin", "hostctl"), args...), gbytes.NewBuffer(), gbytes.NewBuffer()}
	run.cmd.Env = slices.Concat(os.Environ(), f.Environment())
	run.cmd.Stdout, run.cmd.Stderr = run.stdout, run.stderr
	Expect(run.cmd.Start()).To(Succeed())
	DeferCleanup(func() { _ = run.cmd.Process.Kill() })
	return run
}

// interrupt is Ctrl-C. It returns what hostctl has printed in all.
func (r *following) interrupt() Run {
	GinkgoHelper()
	Expect(r.cmd.Process.Signal(os.Interrupt)).To(Succeed())
	_ = r.cmd.Wait() // the exit code tells of a failure
	return Run{string(r.stdout.Contents()), string(r.stderr.Contents()), r.cmd.ProcessState.ExitCode()}
}

// log adds a line to the log of every simulated container of a member, and takes it away after the spec.
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

// clientOf returns a client for the host with the rights of a kubeconfig.
func clientOf(kubeconfig string) client.Client {
	GinkgoHelper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	person, err := client.New(config, client.Options{Scheme: fleet.Host.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return person
}

// requestsOn returns a function for Eventually that reads the requests in the Delivery of a wrapper on a member.
func requestsOn(member string, w v1alpha1.Wrapper) func(context.Context) []v1alpha1.EvidenceRequest {
	return func(ctx context.Context) []v1alpha1.EvidenceRequest {
		return fleet.Member(member).delivery(ctx, w).Spec.Requests
	}
}

var _ = Describe("A request for evidence", func() {
	It("shows a person on call the log and the events of a healthy Deployment, and nothing of another namespace", needsSimulation, func(ctx SpecContext) {
		shop, other := newShop(ctx), newShop(ctx)
		healthy := withPods("web", "", `containers: [{name: app, image: "shop/app:1"}]`)
		web := author(ctx, build.Federated("web").In(shop).To("member-1").With(healthy))
		hidden := author(ctx, build.Federated("hidden").In(other).To("member-1").With(healthy))
		expectReady(ctx, web, hidden)
		user := unique("oncall")
		fleet.Host.create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: shop, Name: "oncall"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "fairlead-oncall"},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})
		kubeconfig := kubeconfigAs(user)
		person := clientOf(kubeconfig)
		Eventually(ctx, func() error { // the API server learns of a RoleBinding a moment later
			return person.List(ctx, &v1alpha1.MemberReportList{}, client.InNamespace(shop))
		}).Should(Succeed())
		ask := func(command string, more ...string) []string {
			return append([]string{command, web.Name, "-n", shop, "--object", "Deployment/web", "--kubeconfig", kubeconfig}, more...)
		}
		const first = `\[member-1/web-[^/]+/app\] This pod is simulated: `

		By("once")
		logs := fleet.Hostctl(ctx, ask("logs")...)
		Expect(logs.Code).To(BeZero(), logs.Stderr)
		Expect(logs.Stdout).To(MatchRegexp("^" + first))
		Expect(logs.Stderr).To(ContainSubstring("member-1: Deployment web, received "))
		events := fleet.Hostctl(ctx, ask("events")...)
		Expect(events.Code).To(BeZero(), events.Stderr)
		Expect(events.Stdout).To(And(ContainSubstring("ScalingReplicaSet"), ContainSubstring("member-1"), Not(ContainSubstring("host "))))
		Expect(reportsIn(ctx, shop)(Default)).To(BeEmpty(), "hostctl must delete its requests")
		Eventually(ctx, requestsOn("member-1", web)).Should(BeEmpty())

		By("with -f, until Ctrl-C")
		run := fleet.follow(ask("logs", "-f")...)
		Eventually(ctx, run.stdout).Should(gbytes.Say(first))
		Expect(requestsOn("member-1", web)(ctx)).To(HaveLen(1))
		fleet.log("member-1", "A further line.")
		Eventually(ctx, run.stdout).Should(gbytes.Say(`\[member-1/web-[^/]+/app\] A further line\.`))
		ended := run.interrupt()
		Expect(ended.Code).To(BeZero(), ended.Stderr)
		Expect(strings.Count(ended.Stdout, "\n")).To(Equal(2), "each line once:\n%s", ended.Stdout)
		Expect(ended.Stderr).NotTo(ContainSubstring("lines may be missing"))
		Expect(reportsIn(ctx, shop)(Default)).To(BeEmpty(), "hostctl must delete its request after an interrupt")
		Eventually(ctx, requestsOn("member-1", web)).Should(BeEmpty())

		By("but not those of another namespace")
		Expect(fleet.Hostctl(ctx, "logs", hidden.Name, "-n", other, "--object", "Deployment/web", "--kubeconfig", kubeconfig)).To(And(
			HaveField("Code", exit.Failed), HaveField("Stdout", ""), HaveField("Stderr", ContainSubstring("forbidden"))))
		about := func(namespace string) *v1alpha1.MemberReport {
			return &v1alpha1.MemberReport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "curious"}, Spec: v1alpha1.MemberReportSpec{
				Wrapper: v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: hidden.Name, UID: hidden.UID}, Request: v1alpha1.EvidenceLogs, Cluster: "member-1",
				Object: v1alpha1.ReportedObject{Group: "apps", Kind: "Deployment", Name: "web"}, Expires: metav1.NewTime(time.Now().Add(5 * time.Minute))}}
		}
		Expect(person.Create(ctx, about(other))).To(MatchError(apierrors.IsForbidden, "IsForbidden"))
		curious := about(shop)
		Expect(person.Create(ctx, curious)).To(Succeed())
		fleet.Host.deleteAfter(curious)
		Eventually(ctx, reread(ctx, curious)).Should(HaveField("Status.Reason", v1alpha1.ReasonWrapperNotFound))
		Expect(curious.Status.Evidence).To(BeZero())
		Expect(requestsOn("member-1", hidden)(ctx)).To(BeEmpty())
	}, SpecTimeout(2*time.Minute))
})
