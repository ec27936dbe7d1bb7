// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// eventsFrom decodes events in the form of the Kubernetes API.
func eventsFrom(t *testing.T, list string) []Event {
	t.Helper()
	var events []Event
	if err := json.Unmarshal([]byte(list), &events); err != nil {
		t.Fatalf("%v in %s", err, list)
	}
	return events
}

func eventText(o v1alpha1.ObservedEvent) string {
	return fmt.Sprintf("%s %s %s %s %d %s: %s", o.LastTime.UTC().Format("15:04:05"), o.Kind, o.Name, o.Type, o.Count, o.Reason, o.Message)
}

func TestEventsAboutTheSameAreOne(t *testing.T) {
	for name, test := range map[string]struct {
		events string
		want   []string
	}{
		"none": {`[]`, nil},
		"pods of one ReplicaSet, and the newest is named": {`[
			{"involvedObject":{"kind":"Pod","name":"web-6d4c5b7f98-x2x4z"},"type":"Warning","reason":"FailedScheduling","message":"0/3 nodes are available","count":3,"lastTimestamp":"2026-01-01T10:00:00Z"},
			{"involvedObject":{"kind":"Pod","name":"web-6d4c5b7f98-k8k8k"},"type":"Warning","reason":"FailedScheduling","message":"0/4 nodes are available","count":2,"lastTimestamp":"2026-01-01T10:00:05Z"},
			{"involvedObject":{"kind":"Pod","name":"web-6d4c5b7f98-a"},"type":"Warning","reason":"FailedScheduling","message":"0/3 nodes are available","lastTimestamp":"2026-01-01T09:00:00Z"}]`,
			[]string{"10:00:05 Pod web-6d4c5b7f98-k8k8k Warning 6 FailedScheduling: 0/4 nodes are available"}},
		"other kinds, reasons, types and messages stay apart, the oldest first": {`[
			{"involvedObject":{"kind":"Pod","name":"a"},"type":"Normal","reason":"Pulled","message":"x","lastTimestamp":"2026-01-01T10:00:05Z"},
			{"involvedObject":{"kind":"Pod","name":"a"},"type":"Normal","reason":"Pulled","message":"y","lastTimestamp":"2026-01-01T10:00:04Z"},
			{"involvedObject":{"kind":"Pod","name":"a"},"type":"Normal","reason":"Started","message":"x","lastTimestamp":"2026-01-01T10:00:03Z"},
			{"involvedObject":{"kind":"Pod","name":"a"},"type":"Warning","reason":"Pulled","message":"x","lastTimestamp":"2026-01-01T10:00:02Z"},
			{"involvedObject":{"kind":"Job","name":"a"},"type":"Normal","reason":"Pulled","message":"x","lastTimestamp":"2026-01-01T10:00:01Z"}]`,
			[]string{
				"10:00:01 Job a Normal 1 Pulled: x", "10:00:02 Pod a Warning 1 Pulled: x", "10:00:03 Pod a Normal 1 Started: x",
				"10:00:04 Pod a Normal 1 Pulled: y", "10:00:05 Pod a Normal 1 Pulled: x",
			}},
		"the time and the count of a series": {`[{"involvedObject":{"kind":"Pod","name":"a"},"reason":"BackOff","eventTime":"2026-01-01T10:00:00.123456Z",
			"series":{"count":7,"lastObservedTime":"2026-01-01T11:00:00.999999Z"}}]`, []string{"11:00:00 Pod a Normal 7 BackOff: "}},
		"the time of a new event, and the time of its creation": {`[{"involvedObject":{"kind":"Pod","name":"a"},"reason":"A","eventTime":"2026-01-01T10:00:00.500000Z"},
			{"involvedObject":{"kind":"Pod","name":"b"},"reason":"B","metadata":{"creationTimestamp":"2026-01-01T11:00:00Z"}}]`,
			[]string{"10:00:00 Pod a Normal 1 A: ", "11:00:00 Pod b Normal 1 B: "}},
		"a count that is too large together, and one below zero": {`[{"involvedObject":{"kind":"Pod","name":"a"},"reason":"A","count":2147483647,"lastTimestamp":"2026-01-01T10:00:00Z"},
			{"involvedObject":{"kind":"Pod","name":"b"},"reason":"A","count":5,"lastTimestamp":"2026-01-01T10:00:00Z"},
			{"involvedObject":{"kind":"Pod","name":"b"},"reason":"B","count":-5,"lastTimestamp":"2026-01-01T10:00:00Z"}]`,
			[]string{"10:00:00 Pod b Normal 1 B: ", fmt.Sprintf("10:00:00 Pod a Normal %d A: ", math.MaxInt32)}},
		"what the schema would refuse": {`[{"involvedObject":{"kind":"Pod","name":"a"},"reason":"A"}, {"involvedObject":{"kind":"Pod","name":"\u001b \u0007"},"reason":"A","lastTimestamp":"2026-01-01T10:00:00Z"},
			{"involvedObject":{"kind":"Pod"},"reason":"A","lastTimestamp":"2026-01-01T10:00:00Z"}, {"involvedObject":{"name":"a"},"reason":"A","lastTimestamp":"2026-01-01T10:00:00Z"},
			{"involvedObject":{"kind":"Pod","name":"a"},"lastTimestamp":"2026-01-01T10:00:00Z"},
			{"involvedObject":{"kind":"Pod","name":"a"},"reason":"A","lastTimestamp":"9999-12-31T23:00:00-10:00"}, {"involvedObject":{"kind":"Pod","name":"a"},"reason":"A","lastTimestamp":"0000-01-01T00:00:00+10:00"}]`, nil},
		"a secret and an escape sequence": {`[{"involvedObject":{"kind":"Pod","name":"a"},"reason":"A","message":"login with \u001b[31mpassword\u001b[0m=CANARY-hunter2\nfailed","lastTimestamp":"2026-01-01T10:00:00Z"}]`,
			[]string{"10:00:00 Pod a Normal 1 A: login with password=[redacted] failed"}},
	} {
		var got []string
		for _, o := range Of(eventsFrom(t, test.events), nil).Events {
			got = append(got, eventText(o))
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestASecretIsRedactedBeforeItsMessageIsCut(t *testing.T) {
	// The cut is in the middle of the secret, where the rest of it looks like a word.
	const secret = "ghp_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
	message := strings.Repeat("x ", (MaxMessage-len("…"))/2-3) + secret
	events := eventsFrom(t, fmt.Sprintf(`[{"involvedObject":{"kind":"Pod","name":"a"},"reason":"A","message":%q,"lastTimestamp":"2026-01-01T10:00:00Z"}]`, message))
	if got := Of(events, nil).Events[0].Message; len(got) > MaxMessage || strings.Contains(got, "ghp_A") {
		t.Errorf("%d bytes: …%s", len(got), got[len(got)-20:])
	}
}

func TestTheNewestEventsStay(t *testing.T) {
	var events []Event
	for i := range 30 {
		e := eventsFrom(t, `[{"involvedObject":{"kind":"Pod","name":"a"},"reason":"A","lastTimestamp":"2026-01-01T10:00:00Z"}]`)[0]
		e.Reason = "R" + string(rune('A'+i))
		e.LastTimestamp.Time = e.LastTimestamp.Add(time.Duration(i) * time.Minute)
		events = append([]Event{e}, events...)
	}
	got := Of(events, nil).Events
	if len(got) != MaxEvents || !slices.IsSortedFunc(got, func(a, b v1alpha1.ObservedEvent) int { return a.LastTime.Compare(b.LastTime.Time) }) || got[0].Reason != "RK" {
		t.Errorf("%d events, the first is %+v", len(got), got[0])
	}
}

func TestWhenAnEventWasLastSeen(t *testing.T) {
	for name, tt := range map[string]struct {
		event string
		want  int // the minute
	}{
		"of a series":              {`"lastTimestamp":"2026-01-02T03:03:00Z","series":{"lastObservedTime":"2026-01-02T03:04:00.000000Z"}`, 4},
		"with a last time":         {`"lastTimestamp":"2026-01-02T03:03:00Z","eventTime":"2026-01-02T03:02:00.000000Z"`, 3},
		"with a time of the event": {`"eventTime":"2026-01-02T03:02:00.000000Z"`, 2},
		"with no other time":       {`"count":1`, 1},
	} {
		event := eventsFrom(t, `[{"metadata":{"creationTimestamp":"2026-01-02T03:01:00Z"},`+tt.event+`}]`)[0]
		if got, want := event.Last(), time.Date(2026, 1, 2, 3, tt.want, 0, 0, time.UTC); !got.Equal(want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
