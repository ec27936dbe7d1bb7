// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
	"github.com/fairlead-dev/fairlead/test/e2e/provider"
	"github.com/fairlead-dev/fairlead/test/e2e/provider/kindclusters"
)

// TestFleet is the provider's clusters, with a client for each.
type TestFleet struct {
	provider.Provider
	// Name is unique on this machine. The folder of the fleet's failures has the same name.
	Name string
	// Sandbox is the sandbox behind Provider; nil with another provider.
	Sandbox *sandbox.Sandbox
	Host    *TestCluster

	members map[string]*TestCluster
	// repo is the root folder of the repository.
	repo string
}

// TestCluster is one cluster of the fleet, with an administrator's client. Its methods read and change the cluster for the specs.
type TestCluster struct {
	client.Client
	Name       string
	Kubeconfig string
	auditLog   string
}

// buildPrograms builds the programs of the sandbox's control planes, unless an earlier run has built them.
func buildPrograms(ctx context.Context) {
	GinkgoHelper()
	if provider.Chosen() != provider.Sandbox {
		return
	}
	cache, err := sandbox.CacheDir()
	Expect(err).NotTo(HaveOccurred())
	_, err = binaries.Build(ctx, cache, append(binaries.ControlPlane(), binaries.OLMPrograms()...), progress.New(os.Stderr))
	Expect(err).NotTo(HaveOccurred())
}

// bringUp starts the clusters of the chosen provider, or uses the clusters that an earlier run kept. Each process of ginkgo has a fleet of its own.
func bringUp(ctx context.Context) *TestFleet {
	GinkgoHelper()
	repo, err := filepath.Abs("../..")
	Expect(err).NotTo(HaveOccurred())
	f := &TestFleet{members: make(map[string]*TestCluster), repo: repo}
	switch name := provider.Chosen(); name {
	case provider.Sandbox:
		f.Sandbox = upSandbox(ctx, repo)
		f.Provider, f.Name = provider.OfSandbox{Sandbox: f.Sandbox}, f.Sandbox.Name
	case provider.Kind:
		f.Provider, f.Name = upKind(ctx, repo), kindName
	default:
		Fail("provider " + name + " does not exist: use PROVIDER=sandbox or PROVIDER=kind")
	}
	f.Host = f.connect(provider.Host)
	for _, name := range f.Provider.MemberNames() {
		f.members[name] = f.connect(name)
	}
	return f
}

// keep reports whether FAIRLEAD_E2E_KEEP is set (make e2e KEEP=1): the suite uses clusters of an earlier run, and leaves them running at its end.
func keep() bool { return os.Getenv("FAIRLEAD_E2E_KEEP") != "" }

// sandboxName returns the name of the sandbox of this process of ginkgo. FAIRLEAD_E2E_SANDBOX is the name for the first process, by default e2e.
func sandboxName() string {
	name := cmp.Or(os.Getenv("FAIRLEAD_E2E_SANDBOX"), "e2e")
	if process := GinkgoParallelProcess(); process > 1 {
		return fmt.Sprintf("%s-%d", name, process)
	}
	return name
}

func upSandbox(ctx context.Context, repo string) *sandbox.Sandbox {
	GinkgoHelper()
	if !keep() { // a killed run may have left a sandbox with this name
		_, err := sandbox.Down(ctx, sandboxName())
		Expect(err).NotTo(HaveOccurred())
	}
	box, err := sandbox.Up(ctx, sandboxOptions(repo), progress.New(os.Stderr))
	Expect(err).NotTo(HaveOccurred())
	return box
}

// sandboxOptions are the options of the sandbox of this process of ginkgo.
func sandboxOptions(repo string) sandbox.Options {
	return sandbox.Options{
		Name: sandboxName(), Members: 3, OLM: true, Audit: true, MoreMemory: true, Programs: filepath.Join(repo, "bin"),
		ManagerArgs: []string{"--reinstall-operators"},
		Fsync:       os.Getenv("FAIRLEAD_E2E_FSYNC") != "", // slower; without it, a killed etcd may lose its last writes
	}
}

// kindName begins the names of all clusters of kind.
const kindName = "fairlead-e2e"

func upKind(ctx context.Context, repo string) *kindclusters.Clusters {
	GinkgoHelper()
	suite, _ := GinkgoConfiguration()
	Expect(suite.ParallelTotal).To(Equal(1), "clusters of kind have fixed names, so one process only can use them")
	cache, err := os.UserCacheDir()
	Expect(err).NotTo(HaveOccurred())
	clusters, err := kindclusters.Up(ctx, kindclusters.Options{
		Name: kindName, Dir: filepath.Join(cache, "fairlead", "kind-e2e"),
		Fairlead:  kindclusters.Version{Programs: filepath.Join(repo, "bin"), Images: filepath.Join(repo, "_artifacts", "images")},
		NodeImage: os.Getenv("KIND_NODE_IMAGE"), OtherNodeImage: os.Getenv("KIND_OTHER_NODE_IMAGE"), Keep: keep(),
	}, progress.New(os.Stderr))
	if err != nil && clusters != nil { // no spec fails, so nothing else saves the logs
		logs := filepath.Join(repo, "_artifacts", kindName, "start")
		exported := clusters.Export(ctx, logs)
		Expect(err).NotTo(HaveOccurred(), "the clusters of kind did not start. Those that exist stay, and their logs are in %s (%v)", logs, exported)
	}
	Expect(err).NotTo(HaveOccurred())
	return clusters
}

func (f *TestFleet) connect(name string) *TestCluster {
	GinkgoHelper()
	config, err := f.RESTConfig(name)
	Expect(err).NotTo(HaveOccurred())
	kubeconfig, err := f.Kubeconfig(name)
	Expect(err).NotTo(HaveOccurred())
	config.QPS = -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, v1alpha1.AddToScheme} {
		Expect(add(scheme)).To(Succeed())
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	Expect(err).NotTo(HaveOccurred())
	connected := &TestCluster{Client: c, Name: name, Kubeconfig: kubeconfig}
	if f.Sandbox != nil {
		spec, err := f.Sandbox.Cluster(name)
		Expect(err).NotTo(HaveOccurred())
		connected.auditLog = spec.AuditLog()
	}
	return connected
}

// Member returns the client of a member, by the member's name.
func (f *TestFleet) Member(name string) *TestCluster {
	GinkgoHelper()
	Expect(f.members).To(HaveKey(name))
	return f.members[name]
}

// MemberNames returns the names of the members that take part, in order.
func (f *TestFleet) MemberNames() []string { return slices.Sorted(maps.Keys(f.members)) }

// Members returns all members, in order.
func (f *TestFleet) Members() []*TestCluster {
	var all []*TestCluster
	for _, name := range f.MemberNames() {
		all = append(all, f.members[name])
	}
	return all
}

// addMember adds a member to the sandbox for the rest of the spec, and returns its name. After the spec the member leaves the host and stops.
// The sandbox keeps the stopped member, so this cannot be done with a sandbox that stays for the next run.
func (f *TestFleet) addMember(ctx context.Context) string {
	GinkgoHelper()
	if keep() {
		Skip("the spec adds a member to the sandbox, which a later run with KEEP=1 would start and join again")
	}
	options := sandboxOptions(f.repo)
	options.Members++
	name := sandbox.MemberName(options.Members)
	DeferCleanup(func(ctx SpecContext) {
		delete(f.members, name)
		unjoined := f.Hostctl(ctx, "unjoin", name, "--yes")
		Expect(unjoined.Code).To(BeZero(), unjoined.Stderr)
		Expect(f.Stop(ctx, name)).To(Succeed())
	}, NodeTimeout(upWithin))
	box, err := sandbox.Up(ctx, options, progress.New(GinkgoWriter))
	Expect(err).NotTo(HaveOccurred())
	f.Sandbox, f.Provider = box, provider.OfSandbox{Sandbox: box} // the former value does not know the new member
	f.members[name] = f.connect(name)
	return name
}

// Run is the result of a program that has ended.
type Run struct {
	Stdout, Stderr string
	Code           int
}

// Hostctl runs the built hostctl. Its kubeconfig has a context for every cluster, and the host's is the current one.
func (f *TestFleet) Hostctl(ctx context.Context, args ...string) Run {
	GinkgoHelper()
	return f.run(ctx, "", filepath.Join(f.repo, "bin", "hostctl"), args...)
}

// hostctlNearMembers does the same as Hostctl, for commands that send requests to members themselves. With kind it runs hostctl in a
// container, because only containers in the network of the clusters can resolve the addresses of the members.
func hostctlNearMembers(ctx context.Context, args ...string) Run {
	GinkgoHelper()
	if clusters, ok := fleet.Provider.(*kindclusters.Clusters); ok {
		return fleet.run(ctx, "", "docker", clusters.InNetwork.Hostctl(args...)...)
	}
	return fleet.Hostctl(ctx, args...)
}

// Kubectl runs kubectl against the host. To run it against another cluster, begin args with --context NAME.
func (f *TestFleet) Kubectl(ctx context.Context, args ...string) Run {
	GinkgoHelper()
	return f.run(ctx, "", f.kubectl(), args...)
}

// KubectlWith does the same as Kubectl, and gives the program this standard input, for the argument -f -.
func (f *TestFleet) KubectlWith(ctx context.Context, stdin string, args ...string) Run {
	GinkgoHelper()
	return f.run(ctx, stdin, f.kubectl(), args...)
}

// kubectl returns the path of the kubectl that the provider's PATH finds.
func (f *TestFleet) kubectl() string {
	GinkgoHelper()
	for _, variable := range f.Environment() {
		list, found := strings.CutPrefix(variable, "PATH=")
		if !found {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if path, err := exec.LookPath(filepath.Join(dir, "kubectl")); err == nil {
				return path
			}
		}
	}
	Fail("there is no kubectl on the provider's PATH")
	return ""
}

func (f *TestFleet) run(ctx context.Context, stdin, program string, args ...string) Run {
	GinkgoHelper()
	kubeconfig, err := f.Kubeconfig("")
	Expect(err).NotTo(HaveOccurred())
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = slices.Concat(os.Environ(), f.Environment(), []string{"KUBECONFIG=" + kubeconfig})
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err = cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		Expect(err).NotTo(HaveOccurred())
	}
	GinkgoWriter.Printf("$ %s %s\n%s%s", filepath.Base(program), strings.Join(args, " "), stdout.String(), stderr.String())
	return Run{Stdout: stdout.String(), Stderr: stderr.String(), Code: cmd.ProcessState.ExitCode()}
}

// Outage stops a member. After the spec it starts the member again, unless the spec has already started it.
func (f *TestFleet) Outage(ctx context.Context, name string) {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) { Expect(f.Start(ctx, name)).To(Succeed()) }, NodeTimeout(upWithin))
	Expect(f.Stop(ctx, name)).To(Succeed())
}

// Manager returns what the sandbox's supervisor reports of the host's manager.
func (f *TestFleet) Manager(ctx context.Context) supervisor.Status {
	GinkgoHelper()
	return f.Process(ctx, sandbox.HostName, sandbox.ManagerProcess)
}

// Process returns what the sandbox's supervisor reports of a process of a cluster.
func (f *TestFleet) Process(ctx context.Context, cluster, name string) supervisor.Status {
	GinkgoHelper()
	all, err := f.Sandbox.Processes(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, p := range all {
		if p.Cluster == cluster && p.Name == name {
			return p
		}
	}
	Fail("the supervisor runs no " + name + " for " + cluster)
	return supervisor.Status{}
}
