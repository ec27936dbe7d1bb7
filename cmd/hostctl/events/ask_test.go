// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/internal/testing/answering"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

// asking is `hostctl events` with a manager that answers.
type asking struct {
	*answering.Manager
	interrupt func()
}

func newAsking() *asking {
	return &asking{Manager: &answering.Manager{Clock: func() time.Time { return now }, Scripts: make(map[string]func(*answering.Request))}}
}

// run runs the command. It fails the test if a request stays at the host.
func (a *asking) run(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	a.interrupt = interrupt
	host := a.Host(t, hostWith(t, nil, objects()...))
	o, out, said := newTest(host, screen.Screen{})
	o.Ask.ErrOut, o.Ask.Now, o.Ask.Bound = said, o.Now, context.WithCancel
	cmd := newCommand(o)
	cmd.SetArgs(append(args, "web", "-n", "shop"))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err = cmd.ExecuteContext(ctx)
	for _, r := range a.Created() {
		if got := host.Get(t.Context(), client.ObjectKeyFromObject(r), &v1alpha1.MemberReport{}); !apierrors.IsNotFound(got) {
			t.Errorf("the request %s is still there (%v)", r.Name, got)
		}
	}
	return out.String(), said.String(), err
}

// scaled is an answer with one event.
func scaled(count int32, seen time.Duration) v1alpha1.MemberReportStatus {
	return v1alpha1.MemberReportStatus{Reason: v1alpha1.ReasonAnswered, ObservedTime: ago(0), Evidence: v1alpha1.Evidence{Events: []v1alpha1.ObservedEvent{
		{Kind: "Deployment", Name: "web", Type: "Normal", Reason: "ScalingReplicaSet", Message: "Scaled up replica set web-7d9f8b6c5", Count: count, LastTime: ago(seen)}}}}
}

func TestMembersAreAskedForEventsThatTheHostDoesNotHave(t *testing.T) {
	answer := func(r *answering.Request) { r.State(scaled(1, time.Minute)) }
	for file, test := range map[string]struct {
		args  []string
		code  int
		asked string
	}{
		"object-of-a-report": {[]string{"--object", "Deployment/web"}, exit.Done, ""},
		"object-asked":       {[]string{"--object", "Deployment/web", "--cluster", "eu-1,us-2"}, exit.Done, "us-2"},
		"object-asked.json":  {[]string{"--object", "deployment/web", "--cluster", "us-2,us-1", "-o", "json"}, exit.Failed, "us-1,us-2"},
		"object-too-old":     {[]string{"--object", "deployment/web", "--cluster", "us-2", "--since", "30s"}, exit.Done, "us-2"},
	} {
		t.Run(file, func(t *testing.T) {
			a := newAsking()
			a.Scripts["us-2"] = answer
			a.Scripts["us-1"] = func(r *answering.Request) { r.Refuse(v1alpha1.ReasonUnreachable, "member us-1 does not answer") }
			stdout, stderr, err := a.run(t, test.args...)
			var asked []string
			for _, r := range a.Created() {
				asked = append(asked, r.Spec.Cluster)
				if r.Spec.Request != v1alpha1.EvidenceEvents || r.Spec.SinceSeconds != 0 {
					t.Errorf("asked for %+v", r.Spec)
				}
			}
			if exit.CodeOf(err) != test.code || strings.Join(asked, ",") != test.asked {
				t.Errorf("%v, asked %v", err, asked)
			}
			golden.Equal(t, file+".out.txt", stdout)
			golden.Equal(t, file+".err.txt", stderr)
		})
	}
}

func TestEventsOfAnObjectAreWatched(t *testing.T) {
	a := newAsking()
	a.Scripts["us-2"] = func(r *answering.Request) {
		r.State(v1alpha1.MemberReportStatus{Reason: v1alpha1.ReasonAnswered})
		r.State(v1alpha1.MemberReportStatus{Reason: v1alpha1.ReasonAnswered, Message: "Deployment web has no events"})
		r.State(scaled(1, time.Minute))
		r.State(scaled(1, time.Minute))
		r.State(scaled(2, 0))
		r.Flush()
		a.interrupt()
	}
	stdout, stderr, err := a.run(t, "--object", "Deployment/web", "--cluster", "us-2", "-w")
	if err != nil {
		t.Error(err)
	}
	golden.Equal(t, "object-watched.out.txt", stdout)
	golden.Equal(t, "object-watched.err.txt", stderr)
}

func TestEventsRefusesAWrongObject(t *testing.T) {
	for _, args := range [][]string{{"--object", "Deployment/x"}, {"--object", "Deployment/x", "-w"}} {
		stdout, _, err := newAsking().run(t, args...)
		if exit.CodeOf(err) != exit.Usage || !strings.HasPrefix(err.Error(), "--object Deployment/x: Federated shop/web has no such object; it has Deployment/web") || stdout != "" {
			t.Errorf("%v: %v", args, err)
		}
	}
}
