// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
	"github.com/fairlead-dev/fairlead/internal/sandbox/cluster"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

// TestMain lets the test binary be the supervisor of the tests' sandboxes.
func TestMain(m *testing.M) {
	SuperviseIfAsked()
	os.Exit(m.Run())
}

// planned returns a sandbox that is planned and not started: its state lists the clusters, but none of their processes runs.
func planned(t *testing.T, o Options) *Sandbox {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	s, err := locate(o.Name)
	if err != nil {
		t.Fatal(err)
	}
	replan(t, s, o)
	return s
}

func replan(t *testing.T, s *Sandbox, o Options) {
	t.Helper()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := s.state.update(t.Context(), func(st *state) error { return plan(st, s.cache, s.Name, o, binaries.Programs{Dir: "/cache/abc"}) }); err != nil {
		t.Fatal(err)
	}
}

func TestUpAgainAddsAndNeverRemoves(t *testing.T) {
	s := planned(t, Options{Name: "grows", Members: 2, Audit: true})
	first := s.specs()
	replan(t, s, Options{Name: "grows", Members: 3, OLM: true})
	if diff := cmp.Diff([]string{"host", "member-1", "member-2", "member-3"}, s.Clusters()); diff != "" {
		t.Error(diff)
	}
	replan(t, s, Options{Name: "grows", Members: 1})
	if diff := cmp.Diff(Options{Name: "grows", Members: 3, OLM: true, Audit: true}, s.Options()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(first, s.specs()[:3]); diff != "" {
		t.Errorf("ports and nodes changed: %s", diff)
	}
	seen := map[int]string{}
	for _, c := range s.specs() {
		for key, port := range c.Ports {
			if other, ok := seen[port]; ok {
				t.Errorf("port %d belongs to both %s and %s/%s", port, other, c.Name, key)
			}
			seen[port] = c.Name + "/" + key
		}
	}
}

func TestMembersAreInDifferentClouds(t *testing.T) {
	s := planned(t, Options{Name: "places", Members: 3})
	regions := map[string]bool{}
	for _, c := range s.specs() {
		zones := map[string]bool{}
		for _, n := range c.Nodes {
			regions[n.Region], zones[n.Zone] = true, true
		}
		if len(c.Nodes) != 3 || len(zones) != 3 {
			t.Errorf("%s has nodes %v", c.Name, c.Nodes)
		}
	}
	if len(regions) != 4 {
		t.Errorf("regions %v", regions)
	}
}

func TestPortOfAKeyStays(t *testing.T) {
	s := planned(t, Options{Name: "ports", Members: 1})
	first, err := s.Port(t.Context(), "member-1", "manager")
	if err != nil {
		t.Fatal(err)
	}
	again, err := Open("ports") // a later command opens the sandbox in the same way
	if err != nil {
		t.Fatal(err)
	}
	second, err := again.Port(t.Context(), "member-1", "manager")
	if err != nil || first != second {
		t.Errorf("the first call returned port %d, the second %d (%v)", first, second, err)
	}
	if _, err := s.Port(t.Context(), "member-9", "manager"); err == nil {
		t.Error("a cluster that does not exist got a port")
	}
}

func TestPortsInUseAreNotChosen(t *testing.T) {
	taken := map[int]bool{}
	for port := firstPort; port < lastPort; port++ {
		taken[port] = true
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	if port, err := freePort(taken); err == nil {
		t.Errorf("chose %d, which is taken", port)
	}
	delete(taken, firstPort+7)
	ports, err := freePorts([]string{"a"}, taken)
	if err == nil && ports["a"] != firstPort+7 {
		t.Errorf("chose %v", ports)
	}
}

func TestKubeconfigOfAllClusters(t *testing.T) {
	s := planned(t, Options{Name: "all", Members: 2})
	for _, c := range s.specs() {
		if err := errors.Join(os.MkdirAll(c.Dir, 0o700), c.Prepare(time.Now())); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.writeKubeconfig(); err != nil {
		t.Fatal(err)
	}
	path, err := s.Kubeconfig("")
	if err != nil {
		t.Fatal(err)
	}
	all, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if all.CurrentContext != HostName {
		t.Errorf("current context %q", all.CurrentContext)
	}
	for _, name := range s.Clusters() {
		config, err := clientcmd.NewNonInteractiveClientConfig(*all, name, nil, nil).ClientConfig()
		if err != nil {
			t.Fatal(err)
		}
		own, err := s.RESTConfig(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]any{own.Host, own.CAData, own.KeyData}, []any{config.Host, config.CAData, config.KeyData}); diff != "" {
			t.Errorf("context %s: %s", name, diff)
		}
	}
}

func TestUnknownSandboxNamesThoseThatExist(t *testing.T) {
	planned(t, Options{Name: "there"})
	_, err := Open("elsewhere")
	var missing *NotFoundError
	if !errors.As(err, &missing) {
		t.Fatalf("error %v", err)
	}
	want := "no sandbox \"elsewhere\": existing sandboxes: there; `hostctl sandbox up --name elsewhere` makes it"
	if diff := cmp.Diff(want, missing.Error()); diff != "" {
		t.Error(diff)
	}
	if existed, err := Down(t.Context(), "elsewhere"); existed || err != nil {
		t.Errorf("taking down a sandbox that does not exist returned %t, %v", existed, err)
	}
}

func TestBrokenSandboxIsListedAndCanBeTakenDown(t *testing.T) {
	s := planned(t, Options{Name: "torn"})
	for _, name := range []string{stateName, "processes.json"} { // after a power cut these files can be empty or incomplete
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(`{"clu`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(t.Context())
	if err != nil || len(list) != 1 || list[0].Status != StatusBroken {
		t.Errorf("the sandbox is listed as %+v, want one with status Broken (%v)", list, err)
	}
	if existed, err := Down(t.Context(), "torn"); !existed || err != nil {
		t.Errorf("taking the broken sandbox down returned %t, %v", existed, err)
	}
	if _, err := os.Stat(s.dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the sandbox's folder still exists, or cannot be read: %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	tests := map[string]struct {
		options Options
		good    bool
	}{
		"a name and some members":       {Options{Name: "e2e-1", Members: 3}, true},
		"no members at all":             {Options{Name: "alone"}, true},
		"no name":                       {Options{Members: 3}, false},
		"a name that leads elsewhere":   {Options{Name: "../x"}, false},
		"fewer members than none":       {Options{Name: "x", Members: -1}, false},
		"more members than the maximum": {Options{Name: "x", Members: 1000}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.good, tt.options.Check() == nil); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStatusInOneWord(t *testing.T) {
	is := func(phases ...supervisor.Phase) []supervisor.Status {
		var list []supervisor.Status
		for i, p := range phases {
			list = append(list, supervisor.Status{Name: fmt.Sprint(i), Phase: p})
		}
		return list
	}
	tests := map[string]struct {
		host, member []supervisor.Status
		want         string
	}{
		"all answers":              {is(supervisor.PhaseReady), is(supervisor.PhaseReady), "Ready"},
		"one cluster is stopped":   {is(supervisor.PhaseReady), is(supervisor.PhaseStopped, supervisor.PhaseStopped), "member-1 Stopped"},
		"all are stopped":          {is(supervisor.PhaseStopped), is(supervisor.PhaseStopped), "Stopped"},
		"one process keeps ending": {is(supervisor.PhaseReady), is(supervisor.PhaseReady, supervisor.PhaseFailing), "member-1 Degraded"},
		"nothing was started yet":  {is(), is(), "Degraded"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := sandboxStatus([]ClusterSummary{
				{Name: "host", Status: clusterStatus(tt.host)}, {Name: "member-1", Status: clusterStatus(tt.member)},
			})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProcessesOfUnknownClustersAreRefused(t *testing.T) {
	s := planned(t, Options{Name: "known", Members: 1})
	if err := s.AddProcess(t.Context(), supervisor.Process{Cluster: "member-7", Name: "x", Path: "/bin/true"}); err == nil {
		t.Error("accepted")
	}
	if _, err := s.Cluster(cluster.Class("host")); err == nil {
		t.Error("found")
	}
}

func TestTheCollectorUsesTheAccountThatTheJoinMakes(t *testing.T) {
	s := planned(t, Options{Name: "accounts", Members: 1})
	c, err := s.Cluster(MemberName(1))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := c.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", c.CollectorKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	want := "system:serviceaccount:" + v1alpha1.SystemNamespace + ":" + permissions.CollectorAccount
	if diff := cmp.Diff(want, pair.Leaf.Subject.CommonName); diff != "" {
		t.Error(diff)
	}
}
