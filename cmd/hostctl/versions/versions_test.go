// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/install"
)

func TestText(t *testing.T) {
	v := &install.Versions{Client: "v0.2.0", Host: &install.HostVersion{Version: "v0.2.0", Image: "r.example/m:v0.2.0", KubernetesVersion: "v1.36.3"},
		Members: []install.MemberVersion{
			{Name: "a", KubernetesVersion: "v1.35.0", Collector: v1alpha1.CollectorHost, CollectorVersion: "v0.2.0"},
			{Name: "b", Collector: v1alpha1.CollectorExternal, CollectorVersion: "v0.1.0", Outdated: "its CRDs are older"},
			{Name: "c", Collector: v1alpha1.CollectorMember},
		}}
	const want = `hostctl    v0.2.0
host       v0.2.0    Kubernetes v1.36.3   r.example/m:v0.2.0
member a   v0.2.0    Kubernetes v1.35.0   collector: Host
member b   v0.1.0    Kubernetes unknown   collector: External, outdated
member c   unknown   Kubernetes unknown   collector: Member
`
	out := &bytes.Buffer{}
	if err := write(out, v, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheOwnVersionIsPrintedInAnyCase(t *testing.T) {
	t.Setenv("KUBECONFIG", "../unjoin/testdata/kubeconfig.yaml")
	for arg, want := range map[string]int{"--client": exit.Done, "--client=false": exit.Failed} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		cmd := New(streams)
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs([]string{arg})
		if err := cmd.ExecuteContext(t.Context()); exit.CodeOf(err) != want || !strings.HasPrefix(out.String(), "hostctl   ") {
			t.Errorf("%s: %v\n%s", arg, err, out)
		}
	}
}
