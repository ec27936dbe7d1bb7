// SPDX-License-Identifier: Apache-2.0

package events

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

// watching is `hostctl events -w` while it runs.
type watching struct {
	host         client.WithWatch
	reports      chan *watch.FakeWatcher // each watch of reports that the command opens
	events       chan *watch.FakeWatcher // each watch of events
	interrupt    func()
	ended        chan error
	stdout       func() string
	stderr       func() string
	refuse       []error // the errors of the next watches of reports
	pauses       int
	listsRefused []error // the errors of the next lists of events
}

// start runs the command. A fake watcher blocks until the command takes an event. The command takes an event only after it has printed
// the previous one.
func start(t *testing.T, args ...string) *watching {
	t.Helper()
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	ctx, interrupt := context.WithCancel(t.Context())
	w := &watching{reports: make(chan *watch.FakeWatcher, 1), events: make(chan *watch.FakeWatcher, 1), interrupt: interrupt, ended: make(chan error, 1)}
	fake := hostWith(t, func(list client.ObjectList) error {
		if _, ok := list.(*corev1.EventList); !ok || len(w.listsRefused) == 0 {
			return nil
		}
		err := w.listsRefused[0]
		w.listsRefused = w.listsRefused[1:]
		return err
	}, objects()...)
	w.host = interceptor.NewClient(fake, interceptor.Funcs{
		Watch: func(_ context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			options := client.ListOptions{}
			options.ApplyOptions(opts)
			if options.Namespace != "shop" || options.Raw == nil {
				t.Errorf("the command watches %T with %+v", list, options)
			}
			f := watch.NewFake()
			switch list.(type) {
			case *metav1.PartialObjectMetadataList:
				if len(w.refuse) > 0 {
					err := w.refuse[0]
					w.refuse = w.refuse[1:]
					return nil, err
				}
				w.reports <- f
			case *corev1.EventList:
				if options.FieldSelector == nil || options.FieldSelector.String() != "involvedObject.uid=u" {
					t.Errorf("the command watches all events: %+v", options)
				}
				w.events <- f
			default:
				t.Errorf("the command watches %T", list)
			}
			return f, nil
		}})
	o, out, said := newTest(w.host, screen.Screen{})
	w.stdout, w.stderr = out.String, said.String
	o.Pause = func(ctx context.Context) error { w.pauses++; return ctx.Err() }
	cmd := newCommand(o)
	cmd.SetArgs(append(args, "web", "-n", "shop", "-w"))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	go func() { w.ended <- cmd.ExecuteContext(ctx) }()
	return w
}

// end interrupts the command and returns its error.
func (w *watching) end() error {
	w.interrupt()
	return <-w.ended
}

// change changes the report of the wrapper at the host.
func (w *watching) change(t *testing.T, change func(*v1alpha1.MemberReport)) *v1alpha1.MemberReport {
	t.Helper()
	r := pull()
	if err := w.host.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
		t.Fatal(err)
	}
	change(r)
	if err := w.host.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

func metadataOf(r *v1alpha1.MemberReport) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: r.ObjectMeta}
}

func TestWatchPrintsOnlyWhatIsNewAndConnectsAgain(t *testing.T) {
	w := start(t)
	reports, events := <-w.reports, <-w.events

	again := w.change(t, func(r *v1alpha1.MemberReport) {
		r.Status.ObservedTime = ago(0)
		r.Status.Events[1].Count, r.Status.Events[1].LastTime = 8, ago(2*time.Second)
		r.Status.Events = append(r.Status.Events, v1alpha1.ObservedEvent{Kind: "Pod", Name: "web-7d9f8b6c5-abcde", Type: "Warning", Reason: "BackOff",
			Message: "Back-off pulling image", Count: 1, LastTime: ago(time.Second)})
	})
	reports.Modify(metadataOf(again))
	reports.Modify(metadataOf(again)) // nothing of it is new
	stranger := again.DeepCopy()
	stranger.Name, stranger.OwnerReferences[0].UID = "other.3", "o"
	reports.Modify(metadataOf(stranger)) // the command does not read it
	reports.Delete(metadataOf(again))
	events.Add(hostEvent("e3", "u", 0, "Pushed", "the image is corrected"))
	events.Add(hostEvent("e4", "o", 0, "Other", "of another object")) // an API server would not send it

	// Both watches end. Before the next ones begin, the report changes, and the host does not answer to two lists and two watches.
	missed := w.change(t, func(r *v1alpha1.MemberReport) {
		r.Status.Events = []v1alpha1.ObservedEvent{{Kind: "Pod", Name: "web-7d9f8b6c5-fghij", Type: "Normal", Reason: "Pulled", Count: 1, LastTime: ago(0)}}
	})
	down := &url.Error{Op: "Get", URL: "https://host:6443", Err: errors.New("connection refused")}
	w.listsRefused = []error{down, down}
	w.refuse = []error{down, down, apierrors.NewResourceExpired("too old")}
	reports.Stop()
	reports, events = <-w.reports, <-w.events
	reports.Modify(metadataOf(missed)) // printed already
	events.Error(&metav1.Status{Reason: metav1.StatusReasonExpired})
	<-w.reports
	<-w.events
	if err := w.end(); err != nil {
		t.Errorf("after an interrupt the command returns %v", err)
	}
	golden.Equal(t, "watch.txt", w.stdout())
	if told := "us-1 is Unreachable, for 4m: its events are from before that\n• the host does not answer, hostctl tries again: "; !strings.HasPrefix(w.stderr(), told) ||
		strings.Count(w.stderr(), "\n") != 2 {
		t.Errorf("stderr has %q", w.stderr())
	}
	if w.pauses != 7 {
		t.Errorf("the command connected again after %d pauses, want 7: after a closed watch, two lists and two watches without an answer, a watch that began too late, and a watch with an error", w.pauses)
	}
}

func TestWatchPrintsEachEventForPrograms(t *testing.T) {
	w := start(t, "-o", "json", "--since", "1m")
	_, events := <-w.reports, <-w.events
	events.Add(hostEvent("e3", "u", 0, "Pushed", "the image is corrected"))
	events.Add(hostEvent("e4", "o", 0, "Other", "of another object")) // when the command takes it, it has printed the one before
	if err := w.end(); err != nil {
		t.Error(err)
	}
	var got []string
	for line := range strings.Lines(w.stdout()) {
		var one row
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Errorf("the line %q is no JSON object: %v", line, err)
		}
		got = append(got, one.Cluster+" "+one.Reason)
	}
	if diff := cmp.Diff([]string{"eu-1 Failed", "eu-1 SuccessfulCreate", " Pushed"}, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestWatchOfAClusterWatchesReportsOnly(t *testing.T) {
	w := start(t, "--cluster", "eu-2")
	reports := <-w.reports
	elsewhere := w.change(t, func(r *v1alpha1.MemberReport) {
		r.Status.Cluster, r.Status.Clusters, r.Status.ClusterCount = "eu-1", []string{"eu-1"}, 1
		r.Status.Events[0].Count++
	})
	reports.Modify(metadataOf(elsewhere))
	back := w.change(t, func(r *v1alpha1.MemberReport) {
		r.Status.Clusters, r.Status.ClusterCount = []string{"eu-1", "eu-2"}, 2
		r.Status.Events[1].Count, r.Status.Events[1].Message = 99, "of both"
	})
	reports.Modify(metadataOf(back))
	if err := w.end(); err != nil {
		t.Error(err)
	}
	if len(w.events) > 0 || strings.Count(w.stdout(), "of both") != 1 || strings.Contains(w.stdout(), "host ") {
		t.Errorf("watches of events: %d, output:\n%s", len(w.events), w.stdout())
	}
}

func TestWatchEndsAtAnErrorThatLasts(t *testing.T) {
	w := start(t)
	reports, _ := <-w.reports, <-w.events
	gone := web()
	if err := w.host.Delete(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	reports.Stop()
	if err := <-w.ended; err == nil || !strings.HasPrefix(err.Error(), "there is no Federated web in namespace shop") {
		t.Errorf("the wrapper is gone, and the command returns %v", err)
	}
}
