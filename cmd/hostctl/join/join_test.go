// SPDX-License-Identifier: Apache-2.0

package join

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/join"
)

const kubeconfig = `apiVersion: v1
kind: Config
current-context: admin@prod
clusters:
- {name: prod, cluster: {server: "https://prod.example:6443"}}
- {name: eu, cluster: {server: "https://eu.example:6443"}}
contexts:
- {name: admin@prod, context: {cluster: prod, user: u}}
- {name: eu, context: {cluster: eu, user: u}}
users:
- {name: u, user: {token: t}}
`

func TestComplete(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", file)
	type read struct {
		Host, HostName, Member string
		Options                join.Options
	}
	for name, tc := range map[string]struct {
		args     []string
		name     string
		want     read
		wantErr  string
		wantCode int
	}{
		"settings without a flag stay empty": {args: []string{"--cluster-kubeconfig", file}, name: "eu-1", want: read{
			Host: "https://prod.example:6443", Member: "https://prod.example:6443",
			Options: join.Options{Name: "eu-1", DefaultHostName: "prod", Wait: 30 * time.Second}}},
		"every flag": {name: "eu-1", args: []string{"--context", "admin@prod", "--cluster-context", "eu", "--allow", "core,a.io/b", "--namespaces", "All",
			"--labels", "env=production,cloud=aws", "--server", "https://10.0.0.7:6443", "--proxy-url", "http://proxy:1", "--collector", "External",
			"--host-name", "head", "--dry-run", "--wait=false"},
			want: read{Host: "https://prod.example:6443", Member: "https://eu.example:6443", Options: join.Options{
				Name: "eu-1", Allow: []string{"core", "a.io/b"}, Namespaces: v1alpha1.NamespacesAll, Labels: map[string]string{"env": "production", "cloud": "aws"},
				Server: "https://10.0.0.7:6443", ProxyURL: "http://proxy:1", Collector: v1alpha1.CollectorExternal, HostName: "head", DefaultHostName: "prod", DryRun: true}}},
		"another host by its context": {args: []string{"--context", "eu", "--cluster-context", "admin@prod", "--timeout", "5s"}, name: "p", want: read{
			Host: "https://eu.example:6443", Member: "https://prod.example:6443", Options: join.Options{Name: "p", DefaultHostName: "eu", Wait: 5 * time.Second}}},
		"a takeover, in a pipe": {name: "eu-1", args: []string{"--cluster-context", "eu", "--take-over", "--yes", "--wait=false"},
			want: read{Host: "https://prod.example:6443", Member: "https://eu.example:6443", Options: join.Options{
				Name: "eu-1", TakeOver: true, DefaultHostName: "prod"}}},
		"a takeover's dry run, in a pipe": {name: "eu-1", args: []string{"--cluster-context", "eu", "--take-over", "--dry-run", "--wait=false"},
			want: read{Host: "https://prod.example:6443", Member: "https://eu.example:6443", Options: join.Options{
				Name: "eu-1", TakeOver: true, DryRun: true, DefaultHostName: "prod"}}},
		"a takeover in a pipe, without --yes": {args: []string{"--cluster-context", "eu", "--take-over"}, name: "eu-1",
			wantErr: "taking eu-1 over needs an answer, and standard input is no terminal: give --yes", wantCode: exit.Usage},
		"--yes without --take-over": {args: []string{"--cluster-context", "eu", "--yes"}, name: "eu-1", wantErr: "--yes works only with --take-over", wantCode: exit.Usage},
		"no cluster":                {name: "eu-1", wantErr: "say which cluster joins", wantCode: exit.Usage},
		"a name that is none":       {args: []string{"--cluster-context", "eu"}, name: "EU", wantErr: `"EU" is not a valid name for a member`, wantCode: exit.Usage},
		"a grant that is none":      {args: []string{"--cluster-context", "eu", "--allow", "x"}, name: "eu-1", wantErr: "unknown profile", wantCode: exit.Usage},
		"a context that is not":     {args: []string{"--cluster-context", "us"}, name: "us-1", wantErr: "reading the cluster's kubeconfig", wantCode: exit.Failed},
		"a file that is not":        {args: []string{"--cluster-kubeconfig", file + "x"}, name: "us-1", wantErr: "reading the cluster's kubeconfig", wantCode: exit.Failed},
		"a host that is not there":  {args: []string{"--cluster-context", "eu", "--context", "us"}, name: "us-1", wantErr: "reading the host's kubeconfig", wantCode: exit.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			o, cmd := newCommand(genericiooptions.NewTestIOStreamsDiscard())
			if err := cmd.ParseFlags(tc.args); err != nil {
				t.Fatal(err)
			}
			err := o.Complete(tc.name)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) || exit.CodeOf(err) != tc.wantCode {
					t.Fatalf("got %d %v, want %d and %q", exit.CodeOf(err), err, tc.wantCode, tc.wantErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := read{Host: o.host.Host, Member: o.member.Host, Options: o.Options}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(join.Options{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	result := join.Result{Name: "eu-1", Host: v1alpha1.HostIdentity{Name: "prod"}, KubernetesVersion: "v1.36.3", Endpoint: "https://eu", Grants: []string{"core", "olm"},
		Namespaces: v1alpha1.NamespacesAll, Collector: v1alpha1.CollectorHost, TokenExpires: time.Date(2027, 1, 2, 0, 0, 0, 0, time.UTC), Changes: 3}
	for name, tc := range map[string]struct {
		change func(*join.Result, *join.Options)
		want   string
	}{
		"what to do next":         {change: func(*join.Result, *join.Options) {}, want: "Next: see it with `kubectl get member eu-1`"},
		"the end of the token":    {change: func(*join.Result, *join.Options) {}, want: "The host's token is valid until 2027-01-02."},
		"nothing to write":        {change: func(r *join.Result, _ *join.Options) { r.Changes = 0 }, want: "Nothing had to be written."},
		"a dry run":               {change: func(_ *join.Result, o *join.Options) { o.DryRun = true }, want: "eu-1 (Kubernetes v1.36.3) would be a member of prod"},
		"an external collector":   {change: func(r *join.Result, _ *join.Options) { r.Collector = v1alpha1.CollectorExternal }, want: "fairlead-system/fairlead-collector"},
		"namespaces that are not": {change: func(r *join.Result, _ *join.Options) { r.Namespaces = v1alpha1.NamespacesManaged }, want: `federation.fairlead.dev/open: "true"`},
	} {
		r, o := result, join.Options{}
		tc.change(&r, &o)
		if got := summary(&r, o); !strings.Contains(got, tc.want) {
			t.Errorf("%s: want %q in:\n%s", name, tc.want, got)
		}
	}
}
