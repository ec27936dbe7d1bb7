// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/answering"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

// running is a container with a log.
func running(pod, name string, lines ...string) v1alpha1.ObservedContainer {
	return v1alpha1.ObservedContainer{Pod: pod, Name: name, State: "Running", Log: strings.Join(lines, "\n")}
}

// asking is a command that asks members.
type asking struct {
	*answering.Manager
	// interrupt is Ctrl-C, and late ends the wait for answers.
	interrupt, late func()
	objects         []client.Object
	// keeps is true if the command cannot delete its requests.
	keeps bool
	// out replaces standard output in the options. If it is nil, standard output is a buffer.
	out func(*Options)
}

// asks returns a command for these objects of the host.
func asks(objects ...client.Object) *asking {
	return &asking{Manager: &answering.Manager{Clock: func() time.Time { return now }, Scripts: make(map[string]func(*answering.Request))}, objects: objects}
}

// run runs the command. It fails the test if a request stays at the host.
func (a *asking) run(t *testing.T, args ...string) result {
	t.Helper()
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	bound, late := context.WithCancel(t.Context())
	defer late()
	a.interrupt, a.late = interrupt, late
	host := a.Host(t, hostWith(t, nil, a.objects...))
	o, out, said := newTest(host)
	o.Ask.ErrOut, o.Ask.Now, o.Ask.Pause = said, o.Now, func(ctx context.Context) error { return ctx.Err() }
	o.Ask.Bound = func(ctx context.Context) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(ctx)
		context.AfterFunc(bound, cancel)
		return ctx, cancel
	}
	if a.out != nil {
		a.out(o)
	}
	cmd := newCommand(o)
	cmd.SetArgs(append(args, "web", "-n", "shop"))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(ctx)
	for _, r := range a.Created() {
		if err := host.Get(t.Context(), client.ObjectKeyFromObject(r), &v1alpha1.MemberReport{}); !apierrors.IsNotFound(err) && !a.keeps {
			t.Errorf("the request %s is still there (%v)", r.Name, err)
		}
	}
	return result{out.String(), said.String(), err}
}

func TestMembersAreAskedForLogsThatTheHostDoesNotHave(t *testing.T) {
	answer := func(r *answering.Request) {
		r.Report.Status.ObservedTime = ago(2 * time.Second)
		r.State(v1alpha1.MemberReportStatus{Reason: v1alpha1.ReasonRequestPending, Message: "waiting for the collector"})
		r.State(v1alpha1.MemberReportStatus{Reason: v1alpha1.ReasonAnswered, ObservedTime: ago(2 * time.Second), Evidence: v1alpha1.Evidence{
			Containers: []v1alpha1.ObservedContainer{running("web-1", "app", "listening", "GET /"), running("web-1", "proxy", "ready")}}})
	}
	without := func(r *answering.Request) {
		r.State(v1alpha1.MemberReportStatus{Reason: v1alpha1.ReasonAnswered, ObservedTime: ago(2 * time.Second), Message: "ConfigMap settings has no pods, so it has no logs"})
	}
	held := func(r *answering.Request) { r.Refuse(v1alpha1.ReasonPairHeld, "the pair is Held: HostBehindMember") }
	for file, test := range map[string]struct {
		args    []string
		scripts map[string]func(*answering.Request)
		code    int
		asked   string
	}{
		"ask-one":          {[]string{"--object", "Deployment/web", "--cluster", "us-2"}, map[string]func(*answering.Request){"us-2": answer}, exit.Done, "us-2"},
		"ask-and-report":   {[]string{"--object", "Deployment/web", "--cluster", "us-2,eu-1"}, map[string]func(*answering.Request){"us-2": answer}, exit.Done, "us-2"},
		"ask-container":    {[]string{"--object", "Deployment/web", "--cluster", "us-1,us-2", "-c", "proxy"}, map[string]func(*answering.Request){"us-1": answer, "us-2": answer}, exit.Done, "us-1,us-2"},
		"ask-since":        {[]string{"--object", "deployment/web", "--cluster", "eu-1", "--since", "90s", "--tail", "1"}, map[string]func(*answering.Request){"eu-1": answer}, exit.Done, "eu-1"},
		"ask-without-pods": {[]string{"--object", "ConfigMap/settings", "--cluster", "eu-1"}, map[string]func(*answering.Request){"eu-1": without}, exit.Done, "eu-1"},
		"ask-held": {[]string{"--object", "ConfigMap/settings", "--cluster", "eu-1,us-2"}, map[string]func(*answering.Request){"eu-1": held, "us-2": without},
			exit.Failed, "eu-1,us-2"},
		"ask-held.json": {[]string{"--object", "Deployment/web", "--cluster", "us-1,us-2", "-o", "json"}, map[string]func(*answering.Request){"us-1": held, "us-2": answer},
			exit.Failed, "us-1,us-2"},
	} {
		t.Run(file, func(t *testing.T) {
			a := asks(web(asIs), crash(), quota())
			a.Scripts = test.scripts
			got := a.run(t, test.args...)
			if exit.CodeOf(got.err) != test.code || got.err != nil && !exit.Silent(got.err) {
				t.Errorf("%v, want code %d", got.err, test.code)
			}
			var asked []string
			for _, r := range a.Created() {
				asked = append(asked, r.Spec.Cluster)
			}
			if diff := cmp.Diff(test.asked, strings.Join(asked, ",")); diff != "" {
				t.Errorf("asked: %s", diff)
			}
			golden.Equal(t, file+".out.txt", got.stdout)
			golden.Equal(t, file+".err.txt", got.stderr)
		})
	}
}

func TestTheRequest(t *testing.T) {
	for name, test := range map[string]struct {
		args    []string
		since   int32
		expires time.Duration
	}{
		"once":             {nil, 0, 5 * time.Minute},
		"since":            {[]string{"--since", "1500ms"}, 2, 5 * time.Minute},
		"followed":         {[]string{"-f"}, 0, time.Hour},
		"followed, recent": {[]string{"-f", "--since", "5m"}, 300, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			a := asks(web(well))
			a.Scripts["us-2"] = func(r *answering.Request) {
				r.Answer()
				r.Flush()
				a.interrupt()
			}
			a.run(t, append(test.args, "--object", "Deployment/web", "--cluster", "us-2")...)
			want := v1alpha1.MemberReportSpec{Wrapper: v1alpha1.WrapperReference{Kind: "Federated", Name: "web", UID: "u"}, Request: v1alpha1.EvidenceLogs, Cluster: "us-2",
				Object: v1alpha1.ReportedObject{Group: "apps", Kind: "Deployment", Name: "web"}, SinceSeconds: test.since, Expires: metav1.NewTime(now.Add(test.expires))}
			got := a.Created()[0]
			if diff := cmp.Diff(want, got.Spec); diff != "" || got.Namespace != "shop" || got.GenerateName != "web-" || len(got.OwnerReferences) != 1 || got.OwnerReferences[0].UID != "u" {
				t.Errorf("%+v: spec (-want +got):\n%s", got.ObjectMeta, diff)
			}
			if diff := cmp.Diff([]string{"web-us-2"}, a.Deleted()); diff != "" {
				t.Errorf("deleted: %s", diff)
			}
		})
	}
}

func TestNewLinesAreFollowed(t *testing.T) {
	a := asks(web(well))
	second := make(chan bool) // the second member answers after the first
	a.Scripts["us-1"] = func(r *answering.Request) {
		r.Refuse(v1alpha1.ReasonRequestPending, "waiting for the collector")
		r.Answer(running("web-1", "app", "one", "two", "three"))
		r.Answer(running("web-1", "app", "two", "three", "four"), running("web-2", "app", "begin"))
		r.Answer(running("web-1", "app", "seven", "eight"), running("web-2", "app", "begin"))
		again := running("web-1", "app", "one")
		again.Restarts = 1
		r.Answer(again, running("web-2", "app", "begin"))
		r.Answer(again, running("web-2", "app"))
		r.Answer(again, running("web-2", "app", "after the pause"))
		r.Refuse(v1alpha1.ReasonUnreachable, "member us-1 does not answer")
		r.Refuse(v1alpha1.ReasonUnreachable, "member us-1 does not answer")
		r.Answer(again, running("web-2", "app", "after the pause"))
		r.Flush()
		close(second)
	}
	watches := 0
	a.Scripts["us-2"] = func(r *answering.Request) {
		<-second
		if watches++; watches == 1 {
			r.Answer(running("web-1", "app", "one"))
			r.Close()
			return
		}
		r.Answer(running("web-1", "app", "one", "two"))
		r.Flush()
		a.interrupt()
	}
	got := a.run(t, "--object", "Deployment/web", "--cluster", "us-1,us-2", "-f", "--tail", "2")
	if got.err != nil {
		t.Error(got.err)
	}
	golden.Equal(t, "follow.out.txt", got.stdout)
	golden.Equal(t, "follow.err.txt", got.stderr)
}

func TestFollowedLinesAreWrittenForPrograms(t *testing.T) {
	for format, want := range map[string]string{
		"json": `{"object":{"group":"apps","kind":"Deployment","name":"web"},"cluster":"us-2","pod":"web-1","container":"app","line":"one"}
{"object":{"group":"apps","kind":"Deployment","name":"web"},"cluster":"us-2","pod":"web-1","container":"app","line":"{\"two\": 2}"}
`,
		"yaml": `---
cluster: us-2
container: app
line: one
object:
  group: apps
  kind: Deployment
  name: web
pod: web-1
---
cluster: us-2
container: app
line: '{"two": 2}'
object:
  group: apps
  kind: Deployment
  name: web
pod: web-1
`} {
		t.Run(format, func(t *testing.T) {
			a := asks(web(well))
			a.Scripts["us-2"] = func(r *answering.Request) {
				r.Answer(running("web-1", "app", "one"))
				r.Answer(running("web-1", "app", "one", `{"two": 2}`))
				r.Flush()
				a.interrupt()
			}
			got := a.run(t, "--object", "Deployment/web", "--cluster", "us-2", "-f", "-o", format)
			if diff := cmp.Diff(want, got.stdout); diff != "" || got.err != nil {
				t.Errorf("%v (-want +got):\n%s", got.err, diff)
			}
		})
	}
}

func TestWhyThereIsNoAnswer(t *testing.T) {
	forbidden := func(verb string) func(string, *v1alpha1.MemberReport) error {
		return func(v string, _ *v1alpha1.MemberReport) error {
			if v != verb {
				return nil
			}
			return apierrors.NewForbidden(schema.GroupResource{Group: v1alpha1.Group, Resource: "memberreports"}, "", errors.New("User \"person\" cannot "+verb+" resource \"memberreports\""))
		}
	}
	fails := func(err error) func(string, *v1alpha1.MemberReport) error {
		return func(v string, _ *v1alpha1.MemberReport) error {
			if v != "create" {
				return nil
			}
			return err
		}
	}
	for name, test := range map[string]struct {
		script func(*asking, *answering.Request)
		refuse func(string, *v1alpha1.MemberReport) error
		args   []string
		code   int
		says   string
	}{
		"the manager does not act": {script: func(a *asking, _ *answering.Request) { a.late() }, code: exit.Failed,
			says: "✗ us-2: no answer within 30s: the manager has not acted on the request: check that it runs"},
		"the collector does not answer": {script: func(a *asking, r *answering.Request) {
			r.Refuse(v1alpha1.ReasonRequestPending, "the collector has not answered yet")
			r.Flush()
			a.late()
		}, code: exit.Failed, says: "✗ us-2: no answer within 30s: the collector has not answered yet\n"},
		"the manager gives no message": {script: func(_ *asking, r *answering.Request) { r.Refuse(v1alpha1.ReasonMemberOutdated, "") }, code: exit.Failed,
			says: "✗ us-2: the CRDs on this member are of an earlier version and have no field for requests: run `hostctl join`"},
		"a reason of a later version": {script: func(a *asking, r *answering.Request) {
			r.Refuse("Tired", "")
			r.Flush()
			a.late()
		}, code: exit.Failed, says: "✗ us-2: no answer within 30s: there is no answer: Tired\n"},
		"another client deletes the request": {script: func(_ *asking, r *answering.Request) { r.Delete() }, code: exit.Failed,
			says: "✗ us-2: the MemberReport web-us-2 with the request was deleted: run the command again"},
		"an interrupt":                    {script: func(a *asking, _ *answering.Request) { a.interrupt() }, code: exit.Failed, says: "• asking us-2 for the logs of Deployment web\n"},
		"without the right to create":     {refuse: forbidden("create"), code: exit.Failed, says: "Error: hostctl asks members for the logs of Deployment web by MemberReports, and your account may not create memberreports in namespace shop (ClusterRole fairlead-oncall grants it)"},
		"without the right to watch":      {refuse: forbidden("watch"), code: exit.Failed, says: "✗ us-2: hostctl asks members for the logs of Deployment web by MemberReports, and your account may not watch memberreports"},
		"a quota":                         {refuse: fails(apierrors.NewForbidden(schema.GroupResource{Resource: "memberreports"}, "", errors.New("exceeded quota: few"))), code: exit.Failed, says: "Error: asking for the logs of Deployment web: memberreports is forbidden: exceeded quota: few"},
		"a host with earlier CRDs":        {refuse: fails(apierrors.NewBadRequest(`strict decoding error: unknown field "spec.request"`)), code: exit.Failed, says: "Error: the host's kind MemberReport has no field spec.request yet: apply the CRDs"},
		"the wrapper has no such object":  {args: []string{"--object", "Deployment/x"}, code: exit.Usage, says: "Error: --object Deployment/x: Federated shop/web has no such object; it has ConfigMap/settings"},
		"an object without a name":        {args: []string{"--object", "web"}, code: exit.Usage, says: "Error: --object web: give KIND/NAME"},
		"-f of the run before":            {args: []string{"-f", "-p", "--object", "Deployment/web"}, code: exit.Usage, says: "Error: --previous shows what the host has"},
		"the run before of a well object": {args: []string{"-p", "--object", "Deployment/web"}, code: exit.Usage, says: "Error: --previous: the host has no log of Deployment/web, and clusters are asked for the present run only"},
		"a container that is not there":   {script: func(_ *asking, r *answering.Request) { r.Answer(running("web-1", "app", "x")) }, args: []string{"--object", "Deployment/web", "--cluster", "us-2", "-c", "y"}, code: exit.Usage, says: "Error: --container y: no container of Deployment web has this name; there are app"},
		"a time in the future":            {args: []string{"--since", "-5m", "--object", "Deployment/web"}, code: exit.Usage, says: "Error: --since -5m0s: give a time in the past"},
		"without the right to delete":     {script: func(_ *asking, r *answering.Request) { r.Answer(running("web-1", "app", "x")) }, refuse: forbidden("delete"), says: "• MemberReport shop/web-us-2 with the request to us-2 was not deleted, and stays until 03:09:05: hostctl asks members"},
		"the reader of a pipe has gone":   {script: func(_ *asking, r *answering.Request) { r.Answer(running("web-1", "app", "x")) }, code: exit.Failed, says: "us-2: Deployment web"},
		"a reason that stays, with -f":    {script: func(_ *asking, r *answering.Request) { r.Refuse(v1alpha1.ReasonObjectNotFound, "") }, args: []string{"--object", "Deployment/web", "--cluster", "us-2", "-f"}, code: exit.Failed, says: "✗ us-2: the wrapper does not list the object any more"},
	} {
		t.Run(name, func(t *testing.T) {
			a := asks(web(well))
			a.Refuse, a.keeps = test.refuse, name == "without the right to delete"
			if test.script != nil {
				a.Scripts["us-2"] = func(r *answering.Request) { test.script(a, r) }
			}
			if strings.HasPrefix(name, "the reader") {
				a.out = func(o *Options) { o.Out = closedPipe{} }
			}
			args := test.args
			if args == nil {
				args = []string{"--object", "Deployment/web", "--cluster", "us-2"}
			}
			got := a.run(t, args...)
			said := got.stderr
			if got.err != nil && !exit.Silent(got.err) {
				said += "Error: " + got.err.Error()
			}
			if exit.CodeOf(got.err) != test.code || !strings.Contains(said, test.says) {
				t.Errorf("code %d, want %d and %q in:\n%s", exit.CodeOf(got.err), test.code, test.says, said)
			}
		})
	}
}

// After a Ctrl-C while hostctl creates requests, it asks no further member, and deletes what it has created.
func TestAnInterruptOfACreateLeavesNoRequest(t *testing.T) {
	a := asks(web(well))
	a.Refuse = func(verb string, _ *v1alpha1.MemberReport) error {
		if verb == "create" {
			a.interrupt()
		}
		return nil
	}
	got := a.run(t, "--object", "Deployment/web", "-f")
	if exit.CodeOf(got.err) != exit.Failed || !exit.Silent(got.err) || len(a.Created()) != 1 || len(a.Deleted()) != 1 {
		t.Errorf("%v; created %d, deleted %v\n%s", got.err, len(a.Created()), a.Deleted(), got.stderr)
	}
}

// closedPipe is a pipe whose reader has gone.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, syscall.EPIPE }
