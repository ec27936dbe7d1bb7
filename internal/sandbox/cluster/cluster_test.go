// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
)

func spec(t *testing.T) Spec {
	t.Helper()
	s := Spec{Name: "member-1", Dir: t.TempDir(), Binaries: "/bin", Ports: map[string]int{}}
	for i, key := range PortKeys() {
		s.Ports[key] = 21000 + i
	}
	return s
}

func TestCertificatesAreGoodForLoopbackAndForNoOtherCluster(t *testing.T) {
	own, other := spec(t), spec(t)
	for _, s := range []Spec{own, other} {
		if err := s.Prepare(time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	serving, err := tls.LoadX509KeyPair(own.pki(pairServing+".crt"), own.pki(pairServing+".key"))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		authority Spec
		name      string
		good      bool
	}{
		"at 127.0.0.1":                   {own, "127.0.0.1", true},
		"at localhost":                   {own, "localhost", true},
		"at another address":             {own, "10.0.0.1", false},
		"by another cluster's authority": {other, "127.0.0.1", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := serving.Leaf.Verify(x509.VerifyOptions{Roots: pool(t, tt.authority), DNSName: tt.name})
			if diff := cmp.Diff(tt.good, err == nil); diff != "" {
				t.Error(diff, err)
			}
		})
	}
	admin, err := tls.LoadX509KeyPair(own.pki(pairAdmin+".crt"), own.pki(pairAdmin+".key"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{masters}, admin.Leaf.Subject.Organization); diff != "" {
		t.Error(diff)
	}
}

// The cluster's certificate authority signs many certificates, some on request through the API. etcd must accept none of these: it checks no
// permissions.
func TestEtcdTrustsItsOwnCertificateAlone(t *testing.T) {
	s := spec(t)
	if err := s.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	own, err := tls.LoadX509KeyPair(s.pki(pairEtcd+".crt"), s.pki(pairEtcd+".key"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(own.Leaf)
	for name := range leaves() {
		pair, err := tls.LoadX509KeyPair(s.pki(name+".crt"), s.pki(name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageAny}}); err == nil {
			t.Errorf("etcd would take the certificate of %s", name)
		}
	}
	for _, usage := range []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth} {
		if _, err := own.Leaf.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{usage}}); err != nil {
			t.Error(err)
		}
	}
	if _, err := own.Leaf.Verify(x509.VerifyOptions{Roots: pool(t, s)}); err == nil {
		t.Error("the cluster's authority has signed etcd's certificate")
	}
}

func pool(t *testing.T, s Spec) *x509.CertPool {
	t.Helper()
	ca, err := os.ReadFile(s.pki(pairCA + ".crt"))
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	return roots
}

func TestPreparingAgainKeepsKeysAndThePersonsContext(t *testing.T) {
	s := spec(t)
	if err := s.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	before := contents(t, s.pki(""))
	if err := s.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, contents(t, s.pki(""))); diff != "" {
		t.Error(diff)
	}
	config, err := clientcmd.LoadFromFile(s.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config.Contexts["mine"] = config.Contexts["member-1"].DeepCopy()
	config.CurrentContext = "mine"
	if err := clientcmd.WriteToFile(*config, s.Kubeconfig()); err != nil {
		t.Fatal(err)
	}
	config.CurrentContext = "member-1"
	if err := WriteKubeconfig(s.Kubeconfig(), config); err != nil {
		t.Fatal(err)
	}
	if got, _ := clientcmd.LoadFromFile(s.Kubeconfig()); got.CurrentContext != "mine" {
		t.Errorf("current context is %q", got.CurrentContext)
	}
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if info, _ := e.Info(); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %s", e.Name(), info.Mode())
		}
		all[e.Name()] = string(content)
	}
	return all
}

func TestFlagsFollowTheSpec(t *testing.T) {
	tests := map[string]struct {
		change  func(*Spec)
		process string
		has     []string
		hasNot  []string
	}{
		"etcd does not wait for the disk": {process: "etcd", has: []string{"--unsafe-no-fsync"}},
		"etcd waits for the disk when asked": {
			change: func(s *Spec) { s.Fsync = true }, process: "etcd", hasNot: []string{"--unsafe-no-fsync"}},
		"etcd asks for a certificate": {process: "etcd", has: []string{"--client-cert-auth", "--peer-client-cert-auth"}},
		"nothing is audited":          {process: "kube-apiserver", hasNot: []string{"--audit-log-path"}},
		"requests are audited when asked": {
			change: func(s *Spec) { s.Audit = true }, process: "kube-apiserver", has: []string{"--audit-log-path", "--audit-policy-file"}},
		"a given flag comes last and wins": {
			change: func(s *Spec) { s.APIServerArgs = []string{"--profiling=true"} }, process: "kube-apiserver", has: []string{"--profiling=true"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := spec(t)
			if tt.change != nil {
				tt.change(&s)
			}
			args := argsOf(t, s, tt.process)
			for _, flag := range tt.has {
				if !hasFlag(args, flag) {
					t.Errorf("flag %s is missing", flag)
				}
			}
			for _, flag := range tt.hasNot {
				if hasFlag(args, flag) {
					t.Errorf("flag %s is set, and must not be", flag)
				}
			}
			if s.APIServerArgs != nil && args[len(args)-1] != s.APIServerArgs[0] {
				t.Errorf("the last flag is %s, want the one from APIServerArgs", args[len(args)-1])
			}
		})
	}
}

func TestProcessesSaveMemoryUnlessTheyMayHaveMore(t *testing.T) {
	for _, more := range []bool{false, true} {
		s := spec(t)
		s.MoreMemory = more
		for _, p := range s.Processes() {
			if saves := slices.Contains(p.Env, lean[0]); saves == more {
				t.Errorf("MoreMemory %t: %s has the environment %v", more, p.Name, p.Env)
			}
		}
	}
}

func TestEverythingListensOnLoopbackOnly(t *testing.T) {
	for _, p := range spec(t).Processes() {
		joined := strings.Join(p.Args, " ")
		if strings.Contains(joined, "0.0.0.0") || !strings.Contains(joined, "127.0.0.1") {
			t.Errorf("%s: %s", p.Name, joined)
		}
	}
}

func TestStampFollowsWhatAProcessReads(t *testing.T) {
	s := spec(t)
	if err := s.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	before := stamps(s)
	if err := os.WriteFile(s.file("kwok.yaml"), []byte("other stages"), 0o600); err != nil {
		t.Fatal(err)
	}
	var changed []string
	for name, stamp := range stamps(s) {
		if stamp != before[name] {
			changed = append(changed, name)
		}
	}
	if diff := cmp.Diff([]string{"kwok"}, changed); diff != "" {
		t.Error(diff)
	}
}

func stamps(s Spec) map[string]string {
	all := map[string]string{}
	for _, p := range s.Processes() {
		all[p.Name] = p.Stamp
	}
	return all
}

func argsOf(t *testing.T, s Spec, name string) []string {
	t.Helper()
	for _, p := range s.Processes() {
		if p.Name == name {
			return p.Args
		}
	}
	t.Fatalf("no process %s", name)
	return nil
}

func hasFlag(args []string, flag string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == flag || strings.HasPrefix(a, flag+"=") })
}

func TestACertificateThatAnOlderBuildDidNotMakeIsAdded(t *testing.T) {
	s := spec(t)
	if err := s.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	before := contents(t, s.pki(""))
	if err := os.Remove(s.pki(pairCollector + ".key")); err != nil { // as after an interrupted attempt to add the pair
		t.Fatal(err)
	}
	if err := s.Prepare(time.Now()); err != nil {
		t.Fatal(err)
	}
	after := contents(t, s.pki(""))
	var changed []string
	for name := range after {
		if before[name] != after[name] {
			changed = append(changed, name)
		}
	}
	slices.Sort(changed)
	if diff := cmp.Diff([]string{pairCollector + ".crt", pairCollector + ".key"}, changed); diff != "" {
		t.Error(diff)
	}
	added, err := tls.LoadX509KeyPair(s.pki(pairCollector+".crt"), s.pki(pairCollector+".key"))
	if err != nil {
		t.Fatal(err)
	}
	options := x509.VerifyOptions{Roots: pool(t, s), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	if _, err := added.Leaf.Verify(options); err != nil {
		t.Error(err)
	}
}
