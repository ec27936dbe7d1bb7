// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/internal/sandbox/demooperator"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

func TestOperatorsAreFoundAgainAmongProcesses(t *testing.T) {
	own := operatorProcess("member-1", "/bin/hostctl", "built", demooperator.Instance{Namespace: "shop", Deployment: "demo-operator"})
	others := operatorProcess("member-2", "/bin/hostctl", "built", demooperator.Instance{Namespace: "web", Deployment: "demo-operator"})
	processes := []supervisor.Status{
		{Cluster: "member-1", Name: "etcd"}, {Cluster: "member-1", Name: CollectorProcess}, {Cluster: sandboxItself, Name: OperatorsProcess},
		{Cluster: own.Cluster, Name: own.Name}, {Cluster: others.Cluster, Name: others.Name},
	}
	if diff := cmp.Diff([]cache.ObjectName{{Namespace: "shop", Name: "demo-operator"}}, operatorsAmong(processes, "member-1")); diff != "" {
		t.Error(diff)
	}
}

func TestAChangedOperatorIsStartedAgain(t *testing.T) {
	base := demooperator.Instance{
		Namespace: "shop", Deployment: "demo-operator", UID: "d-1", Version: "v1.0.0", WatchNamespace: "shop", Kubeconfig: "/k",
	}
	first := operatorProcess("member-1", "/bin/hostctl", "built", base)
	tests := map[string]struct {
		change func(*demooperator.Instance)
		stamp  string
		same   bool
	}{
		"the same instance needs no restart":         {func(*demooperator.Instance) {}, "built", true},
		"another version needs a restart":            {func(i *demooperator.Instance) { i.Version = "v1.1.0" }, "built", false},
		"a Deployment made again needs a restart":    {func(i *demooperator.Instance) { i.UID = "d-2" }, "built", false},
		"another watched namespace needs a restart":  {func(i *demooperator.Instance) { i.WatchNamespace = "" }, "built", false},
		"a program that was rebuilt needs a restart": {func(*demooperator.Instance) {}, "anew", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			i := base
			tt.change(&i)
			next := operatorProcess("member-1", "/bin/hostctl", tt.stamp, i)
			if diff := cmp.Diff(first, next); (diff == "") != tt.same {
				t.Errorf("(-first +next):\n%s", diff)
			}
			if next.Key() != first.Key() {
				t.Errorf("%s would run beside %s", next.Key(), first.Key())
			}
		})
	}
}
