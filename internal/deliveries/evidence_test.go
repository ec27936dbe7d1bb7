// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
)

var observed = metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))

func event(reason string) v1alpha1.ObservedEvent {
	return v1alpha1.ObservedEvent{Kind: "Pod", Name: "web-1", Type: "Warning", Reason: reason, Count: 1, LastTime: observed}
}

func container(log string) v1alpha1.ObservedContainer {
	return v1alpha1.ObservedContainer{Pod: "web-1", Name: "app", State: "Waiting", Log: log}
}

func evidenceOf(events []v1alpha1.ObservedEvent, containers ...v1alpha1.ObservedContainer) v1alpha1.ObjectEvidence {
	return v1alpha1.ObjectEvidence{Group: "apps", Kind: "Deployment", Name: "web", Evidence: v1alpha1.Evidence{Events: events, Containers: containers}}
}

func TestWhatIsKeptOfAnEvent(t *testing.T) {
	change := func(f func(*v1alpha1.ObservedEvent)) v1alpha1.ObservedEvent {
		e := event("BackOff")
		f(&e)
		return e
	}
	later := func(text string) metav1.Time {
		is, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return metav1.NewTime(is)
	}
	for name, test := range map[string]struct {
		is   v1alpha1.ObservedEvent
		kept bool
	}{
		"it fits":                        {event("BackOff"), true},
		"of type Normal":                 {change(func(e *v1alpha1.ObservedEvent) { e.Type = "Normal" }), true},
		"of another type":                {change(func(e *v1alpha1.ObservedEvent) { e.Type = "Fatal" }), false},
		"without a kind":                 {change(func(e *v1alpha1.ObservedEvent) { e.Kind = "\x1b" }), false},
		"without a name":                 {change(func(e *v1alpha1.ObservedEvent) { e.Name = "" }), false},
		"without a reason":               {change(func(e *v1alpha1.ObservedEvent) { e.Reason = "" }), false},
		"a count of 0":                   {change(func(e *v1alpha1.ObservedEvent) { e.Count = 0 }), false},
		"a negative count":               {change(func(e *v1alpha1.ObservedEvent) { e.Count = -1 }), false},
		"without a time":                 {change(func(e *v1alpha1.ObservedEvent) { e.LastTime = metav1.Time{} }), false},
		"a time after the year 9999 UTC": {change(func(e *v1alpha1.ObservedEvent) { e.LastTime = later("9999-12-31T23:59:59-10:00") }), false},
		"a time before the year 1 UTC":   {change(func(e *v1alpha1.ObservedEvent) { e.LastTime = later("0000-01-01T00:00:00+10:00") }), false},
	} {
		t.Run(name, func(t *testing.T) {
			kept := boundEvidence([]v1alpha1.ObjectEvidence{evidenceOf([]v1alpha1.ObservedEvent{test.is})})
			if got := len(kept) == 1; got != test.kept {
				t.Errorf("kept: %v", kept)
			}
		})
	}
}

func TestWhatIsKeptOfEvidence(t *testing.T) {
	many := make([]v1alpha1.ObservedEvent, 0, 25)
	for i := range 25 {
		many = append(many, event(fmt.Sprint("R", i)))
	}
	waits := container("")
	waits.State, waits.Restarts = "Sleeping", 1
	for name, test := range map[string]struct {
		is, want []v1alpha1.ObjectEvidence
	}{
		"nothing": {nil, nil},
		"evidence that fits": {
			[]v1alpha1.ObjectEvidence{evidenceOf(many[:2], container("a\tb\nc"))}, []v1alpha1.ObjectEvidence{evidenceOf(many[:2], container("a\tb\nc"))}},
		"an object without evidence":      {[]v1alpha1.ObjectEvidence{evidenceOf(nil)}, []v1alpha1.ObjectEvidence{}},
		"the same object twice":           {[]v1alpha1.ObjectEvidence{evidenceOf(many[:1]), evidenceOf(many[1:2])}, []v1alpha1.ObjectEvidence{evidenceOf(many[:1])}},
		"the latest events":               {[]v1alpha1.ObjectEvidence{evidenceOf(many)}, []v1alpha1.ObjectEvidence{evidenceOf(many[5:])}},
		"a container in an unknown state": {[]v1alpha1.ObjectEvidence{evidenceOf(many[:1], waits)}, []v1alpha1.ObjectEvidence{evidenceOf(many[:1])}},
		"a log with escape sequences": {
			[]v1alpha1.ObjectEvidence{evidenceOf(nil, container("\x1b[31mred\x07\r\nnext\u202e \xff"))},
			[]v1alpha1.ObjectEvidence{evidenceOf(nil, container("[31mred\nnext \uFFFD"))}},
		"the end of a long log, from the beginning of a line": {
			[]v1alpha1.ObjectEvidence{evidenceOf(nil, container("first\n"+strings.Repeat("0123456789\n", 1000)))},
			[]v1alpha1.ObjectEvidence{evidenceOf(nil, container(strings.Repeat("0123456789\n", evidence.MaxLogs/11)))}},
		"the logs of one object together": {
			[]v1alpha1.ObjectEvidence{evidenceOf(nil, container(strings.Repeat("x", evidence.MaxLogs-3)), container("abcdef"), container("gone"))},
			[]v1alpha1.ObjectEvidence{evidenceOf(nil, container(strings.Repeat("x", evidence.MaxLogs-3)), container("def"), container(""))}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, boundEvidence(test.is)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// checkEvidence fails the test if the evidence exceeds a limit, or has a text that is not clean (see boundEvidence).
func checkEvidence(t *testing.T, all []v1alpha1.ObjectEvidence) {
	t.Helper()
	texts, length := map[string]int{}, 0
	add := func(text string, limit int) { texts[text] = min(limit, max(texts[text], limit)); length += len(text) }
	for _, o := range all {
		add(o.Group, maxName)
		add(o.Kind, evidence.MaxKind)
		add(o.Name, maxName)
		logs := 0
		for _, e := range o.Events {
			add(e.Kind, evidence.MaxKind)
			add(e.Name, maxName)
			add(e.Reason, evidence.MaxReason)
			add(e.Message, maxMessage)
		}
		for _, c := range o.Containers {
			add(c.Pod, maxName)
			add(c.Name, evidence.MaxKind)
			add(c.Reason, evidence.MaxReason)
			add(c.Log, evidence.MaxLogs)
			add(c.PreviousLog, evidence.MaxLogs)
			logs += len(c.Log) + len(c.PreviousLog)
		}
		if len(o.Events) > evidence.MaxEvents || len(o.Containers) > evidence.MaxContainers || logs > evidence.MaxLogs || len(o.Events)+len(o.Containers) == 0 {
			t.Errorf("%d events, %d containers, %d bytes of logs", len(o.Events), len(o.Containers), logs)
		}
	}
	for text, limit := range texts {
		bad := strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r) })
		if len(text) > limit || !utf8.ValidString(text) || bad {
			t.Errorf("a text of %d bytes, of which %d may be kept: %.80q", len(text), limit, text)
		}
	}
	if length > evidence.MaxDelivery || len(all) > evidence.MaxObjects {
		t.Errorf("%d objects with %d bytes of texts", len(all), length)
	}
}

func TestTheEvidenceOfAHostileMemberIsBounded(t *testing.T) {
	text := strings.Repeat("é\x1b\n", 100_000)
	e := v1alpha1.ObservedEvent{Kind: text, Name: text, Type: "Warning", Reason: text, Message: text, Count: 1, LastTime: observed}
	c := v1alpha1.ObservedContainer{Pod: text, Name: text, State: "Running", Reason: text, Log: text, PreviousLog: text}
	var all []v1alpha1.ObjectEvidence
	for i := range 40 {
		o := v1alpha1.ObjectEvidence{Group: text, Kind: text, Name: fmt.Sprint(i, text)}
		for range 40 {
			o.Events, o.Containers = append(o.Events, e), append(o.Containers, c)
		}
		all = append(all, o)
	}
	kept := boundEvidence(all)
	checkEvidence(t, kept)
	if len(kept) < 2 {
		t.Errorf("%d objects are kept", len(kept))
	}
}

func FuzzEvidence(f *testing.F) {
	one, err := json.Marshal([]v1alpha1.ObjectEvidence{evidenceOf([]v1alpha1.ObservedEvent{event("BackOff")}, container("a\n\x1bb"))})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(one))
	f.Add(`[{"kind":"Pod","name":"a","events":[{"lastTime":"9999-12-31T23:59:59-10:00"}]}]`)
	f.Fuzz(func(t *testing.T, encoded string) {
		var all []v1alpha1.ObjectEvidence
		if json.Unmarshal([]byte(encoded), &all) != nil {
			return
		}
		kept := boundEvidence(all)
		checkEvidence(t, kept)
		if diff := cmp.Diff(kept, boundEvidence(kept)); diff != "" && len(kept) > 0 {
			t.Errorf("bounding again changes it:\n%s", diff)
		}
	})
}

// heard is a listener that keeps the changes.
type heard struct {
	news
	changes []Change
}

func (h *heard) Changed(_ *Index, c Change) { h.changes = append(h.changes, c) }

func TestAChangeOfTheEvidenceAloneIsNoNews(t *testing.T) {
	b, h := newBench(t), &heard{}
	b.store.Subscribe(h)
	d := delivery(webIdentity, 1)
	d.Status.ObservedRendering = "sha256:1"
	b.Put(d)
	d.Status.Evidence = []v1alpha1.ObjectEvidence{evidenceOf([]v1alpha1.ObservedEvent{event("BackOff")})}
	b.Replace(d)
	if len(h.changes) != 2 || h.changes[1].IsNews || h.changes[0].Evidence.Objects != nil {
		t.Fatalf("%+v", h.changes)
	}
	if diff := cmp.Diff(d.Status.Evidence, h.changes[1].Evidence.Objects); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	if b.Get(web).Status.Evidence != nil {
		t.Error("the summary keeps the evidence")
	}
}

func TestAWatchBringsTheEvidence(t *testing.T) {
	b := newBench(t)
	d := delivery(webIdentity, 1)
	d.Kind, d.Status.Evidence = "Delivery", []v1alpha1.ObjectEvidence{evidenceOf(nil, container("log"))}
	encoded, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	w := newWatch(b.sink, io.NopCloser(strings.NewReader(raw("MODIFIED", string(encoded)))))
	defer w.Stop()
	is, ok := (<-w.ResultChan()).Object.(*decoded)
	if !ok || !cmp.Equal(d.Status.Evidence, is.evidence.Objects) {
		t.Errorf("%v, %+v", ok, is)
	}
}

// The reflector keeps all pages of a list in memory, so the evidence in them is bounded.
func TestTheEvidenceInAListIsBounded(t *testing.T) {
	b := newBench(t)
	l := &lister{liveness: b.liveness, sink: b.sink}
	d := delivery(webIdentity, 1)
	d.Status.Evidence = []v1alpha1.ObjectEvidence{evidenceOf(nil, container(strings.Repeat("x", evidence.MaxLogs)))}
	weight, omitted := 0, 0
	for range 4000 {
		e := newDecoded(d)
		l.boundEvidence(e)
		weight += boundedread.EvidenceWeight(e.evidence.Objects)
		if e.evidence.Omitted {
			omitted++
		}
	}
	if weight > maxListedEvidence || weight < maxListedEvidence/2 || omitted == 0 {
		t.Errorf("%d MiB of evidence are kept, that of %d Deliveries is left out", weight>>20, omitted)
	}
}
