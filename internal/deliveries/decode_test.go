// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// told returns one line for each event that the decoder reads from the answer to a watch.
func told(b *bench, answer string) (lines []string) {
	w := newWatch(b.sink, io.NopCloser(strings.NewReader(answer)))
	defer w.Stop()
	for e := range w.ResultChan() {
		switch is := e.Object.(type) {
		case *decoded:
			lines = append(lines, fmt.Sprintf("%s %s@%s of %s, %s", e.Type, is.Name, is.ResourceVersion, is.summary.Wrapper.Name, is.summary.Rendering))
		case *metav1.Status:
			lines = append(lines, fmt.Sprintf("%s %d %s", e.Type, is.Code, is.Message))
		}
	}
	return lines
}

// unread returns the line that the function told returns for an event that the decoder cannot read.
func unread(why string) string {
	return fmt.Sprintf("ERROR 500 an error on the server (%q) has prevented the request from succeeding", "unable to decode an event from the watch stream: "+why)
}

func raw(what, object string) string {
	return fmt.Sprintf("{\"type\":%q,\"object\":%s}\n", what, object)
}

func TestWhichEventsOfAWatchAreDecoded(t *testing.T) {
	one := func(version string) string {
		return fmt.Sprintf(`{"kind":"Delivery","apiVersion":"federation.fairlead.dev/v1alpha1","metadata":{"name":"fed.shop.web",
			"resourceVersion":%q,"uid":"u","generation":3,"managedFields":[{"manager":"fairlead","time":"never"}]},
			"spec":{"wrapper":{"name":"web"},"target":{"rendering":"sha256:1"}}}`, version)
	}
	for name, test := range map[string]struct {
		answer string
		want   []string
	}{
		"all types of events": {
			raw("ADDED", one("1")) + raw("MODIFIED", one("2")) + raw("DELETED", one("3")) +
				raw("BOOKMARK", `{"kind":"Delivery","metadata":{"resourceVersion":"4"}}`),
			[]string{"ADDED fed.shop.web@1 of web, sha256:1", "MODIFIED fed.shop.web@2 of web, sha256:1", "DELETED fed.shop.web@3 of web, sha256:1", "BOOKMARK @4 of , "},
		},
		"a version that is too old": {
			raw("ERROR", `{"kind":"Status","status":"Failure","reason":"Expired","code":410,"message":"too old resource version"}`),
			[]string{"ERROR 410 too old resource version"},
		},
		"another kind": {
			raw("ADDED", `{"kind":"Pod","metadata":{"name":"p"}}`),
			[]string{unread("reading an event of the watch of Deliveries: its object is a Pod and not a Delivery")},
		},
		"another event": {
			raw("PERHAPS", one("1")),
			[]string{unread(`reading an event of the watch of Deliveries: the event type "PERHAPS" is unknown`)},
		},
		"text that is not JSON": {
			raw("ADDED", one("1")) + "<html>",
			[]string{"ADDED fed.shop.web@1 of web, sha256:1", unread("invalid character '<' looking for beginning of value")},
		},
		"an end in the middle": {raw("ADDED", one("1")) + raw("MODIFIED", one("2"))[:80], []string{"ADDED fed.shop.web@1 of web, sha256:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, told(newBench(t), test.answer)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The summary tells from the annotation whether a reinstall of an operator is under way.
func TestAWatchBringsTheRecordOfAReinstall(t *testing.T) {
	for annotation, want := range map[string]upgrade.RecordState{
		``: upgrade.NothingRecorded,
		`{"db":{"csvs":[],"subscription":{"name":"db","uid":"u"},"at":"2026-11-26T12:00:00Z"}}`:                                               upgrade.RecordOpen,
		`{"db":{"csvs":[],"subscription":{"name":"db","uid":"u"},"at":"2026-11-26T12:00:00Z","ended":"2026-11-26T12:01:00Z"}}`:                upgrade.RecordUnsettled,
		`{"db":{"csvs":[],"subscription":{"name":"db","uid":"u"},"at":"2026-11-26T12:00:00Z","ended":"2026-11-26T12:01:00Z","settled":true}}`: upgrade.NothingRecorded,
		`{"db":{"at":"2026-11-26T12:00:00Z","ended":"2026-11-26T12:01:00Z"},"web":{"at":"2026-11-26T12:00:00Z"}}`:                             upgrade.RecordOpen,
		`{`: upgrade.NothingRecorded,
		`{"db":{"csvs":[],"subscription":{"name":"db","uid":"` + strings.Repeat("u", 64<<10) + `"},"at":"2026-11-26T12:00:00Z"}}`: upgrade.NothingRecorded,
	} {
		text, err := json.Marshal(map[string]string{v1alpha1.AnnotationReinstalls: annotation, "other": "x"})
		if err != nil {
			t.Fatal(err)
		}
		w := newWatch(newBench(t).sink, io.NopCloser(strings.NewReader(raw("ADDED", `{"kind":"Delivery","metadata":{"name":"d","annotations":`+string(text)+`}}`))))
		e := <-w.ResultChan()
		if is, ok := e.Object.(*decoded); !ok || is.summary.Reinstall != want {
			t.Errorf("%.100s: %+v, want %d", annotation, e.Object, want)
		}
		w.Stop()
	}
}

func TestAWatchEndsWhereTheMemoryForTheMemberDoes(t *testing.T) {
	b := newBench(t)
	b.summaries.weight = maxWeight
	small := raw("ADDED", `{"kind":"Delivery","metadata":{"name":"d"}}`)
	if diff := cmp.Diff([]string{"ERROR 0 " + errTooMuch.Error()}, told(b, small)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func FuzzWatch(f *testing.F) {
	f.Add(raw("ADDED", `{"kind":"Delivery","metadata":{"name":"d","generation":1},"spec":{"inventory":[{}]},"status":{"objects":[{"drift":{}}]}}`))
	f.Add(raw("ERROR", `{"kind":"Status","code":410}`) + raw("BOOKMARK", `{"kind":"Delivery"}`))
	f.Add(raw("DELETED", `[]`))
	f.Add(strings.Repeat(`{"object":`, 5))
	f.Fuzz(func(t *testing.T, answer string) {
		b := newBench(t)
		w := newWatch(b.sink, io.NopCloser(strings.NewReader(answer)))
		defer w.Stop()
		for e := range w.ResultChan() {
			is, ok := e.Object.(*decoded)
			switch {
			case ok && len(is.Name) > maxName:
				t.Fatalf("a name of %d bytes is kept", len(is.Name))
			case ok && is.summary.Status != nil && len(is.summary.Status.Objects) > maxObjects:
				t.Fatalf("%d objects are kept", len(is.summary.Status.Objects))
			case ok && e.Type == apiwatch.Deleted:
				b.sink.remove(is.Name)
			case ok && e.Type != apiwatch.Bookmark:
				b.sink.put(is)
			}
		}
	})
}

// BenchmarkAnEventOfAWatch decodes one event of a watch: every write of the host comes back as such an event.
func BenchmarkAnEventOfAWatch(b *testing.B) {
	d := &v1alpha1.Delivery{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Delivery"}}
	d.Name, d.UID, d.ResourceVersion = "fed.shop.web", "00000000-0000-0000-0000-000000000001", "4711"
	d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "fairlead", FieldsType: "FieldsV1",
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{` + strings.Repeat(`"f:field":{},`, 100) + `"f:last":{}}}`)}}
	d.Spec.Wrapper = v1alpha1.WrapperIdentity{Kind: "Federated", Namespace: "shop", Name: "web", UID: "u", Generation: 2}
	d.Spec.Target = &v1alpha1.DeliveryTarget{Revision: "fed-web-1", Rendering: "sha256:1"}
	d.Spec.Inventory = []v1alpha1.InventoryEntry{{Kind: "ConfigMap", Resource: "configmaps", Name: "settings", State: v1alpha1.EntryApplied}}
	encoded, err := json.Marshal(d)
	if err != nil {
		b.Fatal(err)
	}
	one := raw("MODIFIED", string(encoded))
	b.SetBytes(int64(len(one)))
	b.ReportAllocs()
	x := &Index{}
	for b.Loop() {
		s := &decoder{sink: x.sink, body: io.NopCloser(nil), events: json.NewDecoder(strings.NewReader(one))}
		if _, _, err := s.Decode(); err != nil {
			b.Fatal(err)
		}
	}
}
