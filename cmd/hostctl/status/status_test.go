// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/install"
)

func TestStatusFitsOneScreen(t *testing.T) {
	now := time.Date(2026, 11, 22, 14, 0, 0, 0, time.UTC)
	s := &install.Status{
		ReadTime: metav1.NewTime(now),
		Endpoint: "https://host:6443", KubernetesVersion: "v1.36.3", Version: "v0.1.0", Image: "r.example/m:v0.1.0", Webhooks: install.WebhooksAnswer,
		Manager: install.ManagerStatus{Replicas: 2, Ready: 2, Leader: "manager-1", Renewed: metav1.NewTime(now.Add(-2 * time.Second))},
		Members: []install.Group{
			{Ready: "False", Reason: "ClusterUnreachable", Count: 12, Names: []string{"a", "b"}, Message: "no answer"},
			{Ready: "True", Reason: "ClusterReady", Count: 1, Names: []string{"c"}},
		},
		Wrappers: []install.Group{{Ready: "True", Reason: "AllHealthy", Count: 1, Names: []string{"shop/web"}}},
		Clusters: install.ClusterSums{Placed: 13, Updated: 1, Healthy: 1, Unreachable: 12},
		Problems: []string{"members: 12 ClusterUnreachable: a, b"},
	}
	const want = `HOST       https://host:6443, Kubernetes v1.36.3
version    v0.1.0
manager    2 of 2 replicas ready, r.example/m:v0.1.0
leader     manager-1, renewed 2s ago
webhooks   answer

MEMBERS        13
12 not Ready   ClusterUnreachable: a, b and 10 more
                 no answer
1 Ready        ClusterReady: c

WRAPPERS   1, placed on 13 clusters in total: 1 updated, 1 healthy, 0 progressing, 0 degraded, 0 stalled, 0 held, 12 unreachable
1 Ready    AllHealthy: shop/web

✗ members: 12 ClusterUnreachable: a, b
`
	out := &bytes.Buffer{}
	if err := write(out, s, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	out.Reset()
	got := &install.Status{}
	if err := write(out, s, "json"); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out.Bytes(), got); err != nil || got.Members[0].Count != 12 {
		t.Errorf("%v %+v", err, got)
	}
}

func TestAHostWithoutFairleadHasOneProblem(t *testing.T) {
	s := &install.Status{Endpoint: "https://host:6443", KubernetesVersion: "v1.36.3", Webhooks: "not installed", Problems: []string{"Fairlead is not installed on this host: run `hostctl init`"}}
	const want = `HOST       https://host:6443, Kubernetes v1.36.3
version    unknown
manager    not installed
webhooks   not installed

MEMBERS   0

WRAPPERS   0, placed on 0 clusters in total: 0 updated, 0 healthy, 0 progressing, 0 degraded, 0 stalled, 0 held, 0 unreachable

✗ Fairlead is not installed on this host: run ` + "`hostctl init`" + `
`
	out := &bytes.Buffer{}
	if err := write(out, s, ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAHostThatDoesNotAnswerIsAFailure(t *testing.T) {
	t.Setenv("KUBECONFIG", "../unjoin/testdata/kubeconfig.yaml")
	for args, want := range map[string]int{"": exit.Failed, "-o=xml": exit.Usage} {
		cmd := New(genericiooptions.NewTestIOStreamsDiscard())
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		cmd.SetArgs([]string{args}[:min(len(args), 1)])
		if err := cmd.ExecuteContext(t.Context()); exit.CodeOf(err) != want {
			t.Errorf("arguments %q: got error %v", args, err)
		}
	}
}
