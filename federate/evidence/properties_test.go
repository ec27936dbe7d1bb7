// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
)

// schema returns the API server's validator for the field status.evidence of Deliveries.
func schema(t *testing.T) *validate.SchemaValidator {
	t.Helper()
	crd, err := config.CustomResourceDefinition("deliveries." + v1alpha1.Group)
	if err != nil {
		t.Fatal(err)
	}
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil || len(versions) != 1 {
		t.Fatalf("%d versions, %v", len(versions), err)
	}
	field, found, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "status", "properties", "evidence")
	if err != nil || !found {
		t.Fatalf("status.evidence: %t, %v", found, err)
	}
	text, err := json.Marshal(field)
	if err != nil {
		t.Fatal(err)
	}
	s := &spec.Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		t.Fatal(err)
	}
	return validate.NewSchemaValidator(s, nil, "evidence", strfmt.Default)
}

// check fails if the evidence of a Delivery is too large, or not what the schema and a terminal accept.
func check(t *testing.T, validator *validate.SchemaValidator, objects []v1alpha1.ObjectEvidence) {
	t.Helper()
	if len(objects) == 0 {
		return // the field is absent
	}
	text, err := json.Marshal(objects)
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > MaxDelivery {
		t.Errorf("the evidence has %d bytes", len(text))
	}
	var read any
	var back []v1alpha1.ObjectEvidence
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	// If JSON changed the evidence, the collector would write it again and again: it writes whenever its status differs from the API
	// server's.
	if !equality.Semantic.DeepEqual(objects, back) {
		t.Errorf("JSON changes %#v to %#v", objects, back)
	}
	for _, err := range validator.Validate(read).Errors {
		t.Error(err)
	}
	for i := range objects {
		o := &objects[i]
		if IsEmpty(&o.Evidence) {
			t.Errorf("%s %s has no evidence", o.Kind, o.Name)
		}
		logs := 0
		for _, c := range o.Containers {
			logs += len(c.Log) + len(c.PreviousLog)
			checkText(t, c.Log, "\n\t")
			checkText(t, c.PreviousLog, "\n\t")
			checkText(t, c.Reason, "")
			checkName(t, c.Pod+c.Name+c.State)
		}
		if logs > MaxLogs {
			t.Errorf("%s %s has %d bytes of logs", o.Kind, o.Name, logs)
		}
		for _, e := range o.Events {
			checkText(t, e.Reason+" "+e.Message, "")
			checkName(t, e.Kind+e.Name+e.Type)
		}
	}
}

// checkName checks a name. A name may contain the secret: the package does not redact names, because they look like random text.
func checkName(t *testing.T, name string) {
	t.Helper()
	checkText(t, strings.ReplaceAll(name, "hunter2", ""), "")
}

func checkText(t *testing.T, text, allowed string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("not valid UTF-8: %q", text)
	}
	if strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune(allowed, r) && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r))
	}) {
		t.Errorf("a control character in %q", text)
	}
	if strings.Contains(text, "hunter2") {
		t.Errorf("a secret in %q", text)
	}
}

// pieces are parts of the texts that a member may send.
var pieces = []string{
	"", " ", "a", "Pod", "\n", "\t", "\r\n", "\x00", "\xff", "\x1b[31m", "\x1b]0;title\x07", "\u202e", "\u2028", "ö", "🙂", "<", "\"", "\\", "…",
	" password=hunter2 ", "postgres://u:hunter2@db:5432/x ", strings.Repeat("x", 300), strings.Repeat("<", 5000), strings.Repeat("ä\n", 3000), strings.Repeat("word ", 300),
	"unable to retrieve container logs for ", "-6d4c5b7f98-x2x4z", "10.1.2.3:80",
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(6) {
		b.WriteString(pieces[r.IntN(len(pieces))] + " ") // the tests of package redact cover text directly beside a secret
	}
	return b.String()
}

func randomTime(r *rand.Rand) time.Time {
	switch r.IntN(6) {
	case 0:
		return time.Time{}
	case 1:
		return time.Date(9999, 12, 31, 23, 59, 59, 999, time.FixedZone("", -12*3600))
	case 2:
		return time.Date(0, 1, 1, 0, 0, 0, 0, time.FixedZone("", 12*3600))
	}
	return time.Unix(r.Int64N(4e9), r.Int64N(1e9)).In(time.FixedZone("", 3600))
}

func randomEvents(r *rand.Rand) (events []Event) {
	for range r.IntN(60) {
		var e Event
		e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Type = randomText(r), randomText(r), randomText(r)
		e.Reason, e.Message = randomText(r), randomText(r)
		e.Count = []int32{0, 1, -1, math.MaxInt32, math.MinInt32, 7}[r.IntN(6)]
		e.LastTimestamp.Time, e.EventTime.Time, e.Metadata.CreationTimestamp.Time = randomTime(r), randomTime(r), randomTime(r)
		events = append(events, e)
	}
	return events
}

func randomContainers(r *rand.Rand) (containers []Container) {
	for range r.IntN(12) {
		containers = append(containers, Container{
			Pod: randomText(r), Name: randomText(r), State: []string{"", StateWaiting, StateRunning, StateTerminated}[r.IntN(4)], Reason: randomText(r),
			Restarts: []int32{0, 5, -1, math.MaxInt32}[r.IntN(4)], Log: randomText(r), PreviousLog: randomText(r),
		})
	}
	return containers
}

func TestWhateverAMemberSendsTheResultIsBoundedAndValid(t *testing.T) {
	validator := schema(t)
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 0))
		var objects []v1alpha1.ObjectEvidence
		for i := range r.IntN(25) {
			objects = append(objects, v1alpha1.ObjectEvidence{Group: "apps", Kind: "Deployment", Name: fmt.Sprint("web-", i), Evidence: Of(randomEvents(r), randomContainers(r))})
		}
		before, err := json.Marshal(objects)
		if err != nil {
			t.Fatal(err)
		}
		bounded := Bound(objects)
		check(t, validator, bounded)
		if after, err := json.Marshal(objects); err != nil || string(after) != string(before) {
			t.Error("Bound changes its argument")
		}
		if again := Bound(bounded); !equality.Semantic.DeepEqual(again, bounded) {
			t.Error("Bound changes what it has bounded")
		}
		if t.Failed() {
			t.Fatalf("with seed %d", seed)
		}
	}
}

func TestTheEvidenceOfOneObjectAndOfADeliveryUseWhatTheyMay(t *testing.T) {
	var events []Event
	for i := range MaxEvents {
		e := eventsFrom(t, `[{"involvedObject":{"kind":"Pod","name":"a"},"reason":"A","lastTimestamp":"2026-01-01T10:00:00Z"}]`)[0]
		e.Reason, e.Message = "R"+string(rune('A'+i)), strings.Repeat("word ", 200)
		events = append(events, e)
	}
	logs := []Container{{Pod: "p", Name: "a", Log: strings.Repeat("one line\n", 800), PreviousLog: strings.Repeat("one line\n", 800)}}
	one := Of(events, logs)
	if size := sizeOf(one); size > maxObject || size < maxObject*3/4 || len(one.Events) == 0 || one.Containers[0].PreviousLog == "" {
		t.Errorf("%d bytes with %d events", size, len(one.Events))
	}
	var objects []v1alpha1.ObjectEvidence
	for i := range 30 {
		objects = append(objects, v1alpha1.ObjectEvidence{Kind: "Job", Name: fmt.Sprint("job-", i), Evidence: one})
	}
	bounded := Bound(objects)
	if size := sizeOf(bounded); len(bounded) != MaxObjects || size > MaxDelivery || size < MaxDelivery*3/4 {
		t.Errorf("%d bytes of %d objects", size, len(bounded))
	}
	for _, o := range bounded {
		if len(o.Events) == 0 || o.Containers[0].Log == "" {
			t.Errorf("%s has lost its events or its log", o.Name)
		}
	}
	if got := Bound([]v1alpha1.ObjectEvidence{{Kind: "Job", Name: "empty"}}); len(got) > 0 {
		t.Errorf("an entry without evidence stays: %+v", got)
	}
}
