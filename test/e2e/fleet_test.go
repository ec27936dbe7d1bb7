// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

// memberNames are the members of the fleet. Their labels cloud are aws, gcp and onprem.
var memberNames = []string{"member-1", "member-2", "member-3"}

// TestFleet is the suite's sandbox, with clients.
type TestFleet struct {
	*sandbox.Sandbox
	Host *TestCluster

	members map[string]*TestCluster
	// repo is the folder of the checkout.
	repo string
}

// TestCluster is one cluster of the fleet, with an administrator's client. Its many methods are the questions that specs ask of a cluster.
type TestCluster struct {
	client.Client
	Name       string
	Kubeconfig string
	auditLog   string
}

// bringUp makes the suite's sandbox, or uses the one that an earlier run kept.
func bringUp(ctx context.Context) *TestFleet {
	GinkgoHelper()
	switch provider := os.Getenv("FAIRLEAD_E2E_PROVIDER"); provider {
	case "", "sandbox":
	case "kind":
		Fail("provider kind is not there yet: it comes with a later issue, with images to run; use PROVIDER=sandbox")
	default:
		Fail("provider " + provider + " is not known: use PROVIDER=sandbox")
	}
	repo, err := filepath.Abs("../..")
	Expect(err).NotTo(HaveOccurred())
	name := os.Getenv("FAIRLEAD_E2E_SANDBOX")
	if name == "" {
		name = "e2e"
	}
	if os.Getenv("FAIRLEAD_E2E_KEEP") == "" { // what a killed run has left
		_, err := sandbox.Down(ctx, name)
		Expect(err).NotTo(HaveOccurred())
	}
	box, err := sandbox.Up(ctx, sandbox.Options{
		Name: name, Members: len(memberNames), OLM: true, Audit: true, Programs: filepath.Join(repo, "bin"),
		Fsync: os.Getenv("FAIRLEAD_E2E_FSYNC") != "", // slower; decides what a killed etcd may lose
	}, progress.New(os.Stderr))
	Expect(err).NotTo(HaveOccurred())
	f := &TestFleet{Sandbox: box, members: make(map[string]*TestCluster), repo: repo}
	f.Host = f.connect(sandbox.HostName)
	for _, name := range memberNames {
		f.members[name] = f.connect(name)
	}
	return f
}

func (f *TestFleet) connect(name string) *TestCluster {
	GinkgoHelper()
	spec, err := f.Cluster(name)
	Expect(err).NotTo(HaveOccurred())
	config, err := f.RESTConfig(name)
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		Expect(add(scheme)).To(Succeed())
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	return &TestCluster{Client: c, Name: name, Kubeconfig: spec.Kubeconfig(), auditLog: spec.AuditLog()}
}

// Member returns one of memberNames.
func (f *TestFleet) Member(name string) *TestCluster {
	GinkgoHelper()
	Expect(f.members).To(HaveKey(name))
	return f.members[name]
}

// Members returns all members, in order.
func (f *TestFleet) Members() []*TestCluster {
	var all []*TestCluster
	for _, name := range memberNames {
		all = append(all, f.members[name])
	}
	return all
}

// Run is the output and the exit code of a program.
type Run struct {
	Stdout, Stderr string
	Code           int
}

// Hostctl runs the built hostctl, with every cluster of the fleet as a context and the host as the current one.
func (f *TestFleet) Hostctl(ctx context.Context, args ...string) Run {
	GinkgoHelper()
	return f.run(ctx, "", filepath.Join(f.repo, "bin", "hostctl"), args...)
}

// Kubectl runs kubectl for the host, or for another cluster with --context NAME as the first two arguments.
func (f *TestFleet) Kubectl(ctx context.Context, args ...string) Run {
	GinkgoHelper()
	return f.run(ctx, "", filepath.Join(f.Binaries(), "kubectl"), args...)
}

// KubectlWith is Kubectl with standard input, for -f -.
func (f *TestFleet) KubectlWith(ctx context.Context, stdin string, args ...string) Run {
	GinkgoHelper()
	return f.run(ctx, stdin, filepath.Join(f.Binaries(), "kubectl"), args...)
}

func (f *TestFleet) run(ctx context.Context, stdin, program string, args ...string) Run {
	GinkgoHelper()
	kubeconfig, err := f.Kubeconfig("")
	Expect(err).NotTo(HaveOccurred())
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "KUBECACHEDIR="+f.KubectlCache(), "PATH="+f.Binaries()+string(os.PathListSeparator)+os.Getenv("PATH"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err = cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		Expect(err).NotTo(HaveOccurred())
	}
	GinkgoWriter.Printf("$ %s %s\n%s%s", filepath.Base(program), strings.Join(args, " "), stdout.String(), stderr.String())
	return Run{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// Outage stops a member until the spec is over, unless the spec starts it earlier.
func (f *TestFleet) Outage(ctx context.Context, name string) {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) { Expect(f.Start(ctx, name)).To(Succeed()) }, NodeTimeout(upWithin))
	Expect(f.Stop(ctx, name)).To(Succeed())
}

// Manager returns the status of the host's manager from its supervisor.
func (f *TestFleet) Manager(ctx context.Context) supervisor.Status {
	GinkgoHelper()
	return f.Process(ctx, sandbox.HostName, sandbox.ManagerProcess)
}

// Process returns the status of a cluster's process from its supervisor.
func (f *TestFleet) Process(ctx context.Context, cluster, name string) supervisor.Status {
	GinkgoHelper()
	all, err := f.Processes(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, p := range all {
		if p.Cluster == cluster && p.Name == name {
			return p
		}
	}
	Fail("the supervisor runs no " + name + " for " + cluster)
	return supervisor.Status{}
}
