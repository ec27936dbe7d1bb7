// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/coalesce"
	"github.com/fairlead-dev/fairlead/federate/digest"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// refusing is a loop whose API server has one report, and answers each patch of it with an error.
type refusing struct {
	loop    *Reconciler
	clock   *clocktesting.FakeClock
	known   *knownReports
	stored  types.UID
	patches int
	logged  int
}

func newRefusing() *refusing {
	r := &refusing{clock: clocktesting.NewFakeClock(now), stored: "r"}
	c := interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
			if r.stored == "" {
				return apierrors.NewNotFound(schema.GroupResource{}, "web")
			}
			obj.SetUID(r.stored)
			return nil
		},
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewAlreadyExists(schema.GroupResource{}, "web")
		},
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			r.patches++
			return apierrors.NewInvalid(schema.GroupKind{Kind: "MemberReport"}, "web", nil)
		},
	})
	r.loop = &Reconciler{client: c, live: c, clock: r.clock, known: make(map[deliveries.Key]*knownReports), limits: newWriteLimits(r.clock)}
	r.known = newKnownReports("w")
	r.known.byName["web"] = &knownReport{uid: "r"}
	return r
}

func (r *refusing) reconciliation() *reconciliation {
	return &reconciliation{Reconciler: r.loop, id: v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop"}, now: r.clock.Now(), known: r.known}
}

// bring writes a report with this message once, and returns the time after which the loop tries again.
func (r *refusing) bring(t *testing.T, message string) time.Duration {
	t.Helper()
	log := funcr.New(func(string, string) { r.logged++ }, funcr.Options{})
	p := r.reconciliation()
	if err := p.bring(ctrl.LoggerInto(t.Context(), log), "web", &v1alpha1.MemberReportStatus{Message: message}); err != nil {
		t.Fatal(err)
	}
	return p.again
}

func TestContentThatTheAPIServerRefusesIsNotWrittenAgainAndAgain(t *testing.T) {
	r := newRefusing()
	for i, step := range []struct {
		after           time.Duration
		message         string
		patches, logged int
		again           time.Duration
	}{
		{0, "one", 1, 1, refusedAgain},
		{evidenceEvery, "one", 1, 1, refusedAgain - evidenceEvery},
		{evidenceEvery, "two", 2, 2, refusedAgain},
		{time.Second, "three", 2, 2, evidenceEvery - time.Second},
		{refusedAgain, "two", 3, 2, refusedAgain}, // perhaps the CRD was upgraded
	} {
		r.clock.Step(step.after)
		again := r.bring(t, step.message)
		if r.patches != step.patches || r.logged != step.logged || again != step.again || r.known.byName["web"] == nil {
			t.Errorf("step %d: %d patches, %d lines in the log, again in %s", i, r.patches, r.logged, again)
		}
	}
}

func TestNewMembersOfARefusedReportWaitForNoOtherReport(t *testing.T) {
	r := newRefusing()
	r.known.byName["web"].members = digest.SumOfJSON(membersOf(&v1alpha1.MemberReportStatus{}))
	r.bring(t, "one")
	r.clock.Step(evidenceEvery)
	r.known.coalesced.Wrote(coalesce.Repeat, r.clock.Now()) // of another report
	if again := r.bring(t, "two"); r.patches != 1 || again != coalesce.RepeatEvery {
		t.Errorf("%d patches, again in %s: other evidence of the same members waits", r.patches, again)
	}
	p := r.reconciliation()
	if err := p.bring(t.Context(), "web", &v1alpha1.MemberReportStatus{Clusters: []string{"west"}, Message: "two"}); err != nil || r.patches != 2 {
		t.Errorf("%d patches, %v: another member does not wait", r.patches, err)
	}
}

func TestAReportThatFailsTheTestOfItsUIDIsReadAgain(t *testing.T) {
	for name, stored := range map[string]types.UID{"deleted": "", "replaced": "another"} {
		t.Run(name, func(t *testing.T) {
			r := newRefusing()
			r.stored = stored
			if again := r.bring(t, "one"); again != membersEvery || r.known.byName["web"] != nil || r.logged != 0 {
				t.Errorf("again in %s, %d lines in the log, known %v", again, r.logged, r.known.byName)
			}
		})
	}
}

func TestAReportOfAnotherClientDelaysNoOtherReport(t *testing.T) {
	p := newRefusing().reconciliation()
	p.repeatAfter(membersEvery)
	if _, err := p.create(t.Context(), "web"); err != nil {
		t.Fatal(err)
	}
	if p.again != membersEvery {
		t.Errorf("the reconcile is repeated in %s instead of %s", p.again, membersEvery)
	}
}

// An API server answers 422 to content that the schema refuses, and also to a patch whose test of the uid fails.
func TestARealAPIServerThatRefusesContent(t *testing.T) {
	s := newSite(t, "east")
	s.list("east", "it crashes")
	s.pass()
	id := v1alpha1.Identity(s.wrapper)
	known := s.loop.knownOf(deliveries.KeyOf(id), id.UID)
	p := &reconciliation{Reconciler: s.loop, key: deliveries.KeyOf(id), id: id, now: now, known: known}
	status := s.reports()[0].Status
	status.ClusterCount = -1
	for name, is := range known.byName {
		if err := p.patch(t.Context(), name, is, &status, coalesce.News); err != nil || p.again != refusedAgain {
			t.Errorf("again in %s, error %v", p.again, errors.Unwrap(err))
		}
	}
	if len(known.byName) != 1 {
		t.Errorf("known: %v", known.byName)
	}
}

// The containers of several objects crash, and the member sends newer evidence about all of them every five seconds.
func TestNewerEvidenceCausesFewWritesAndReachesEachReport(t *testing.T) {
	for _, objects := range []int{1, 5} {
		t.Run(fmt.Sprint(objects, " objects"), func(t *testing.T) {
			s := newSite(t, "east")
			x, began, due := s.connect("east"), s.clock.Now(), s.clock.Now()
			const lasts = 3 * time.Minute
			for second := range int(lasts.Seconds()) {
				if second%5 == 0 {
					d := s.ill("it crashes", "log")
					object, evidence := d.Status.Objects[0], d.Status.Evidence[0]
					d.Status.Objects, d.Status.Evidence = nil, nil
					for i := range objects {
						object.Name = fmt.Sprint("web-", i)
						object.Message = fmt.Sprintf("it crashes %d times", second)
						evidence.Name, evidence.Containers = object.Name, []v1alpha1.ObservedContainer{{Pod: "p", Name: "app", State: "Waiting", Restarts: int32(second)}} //nolint:gosec // small
						d.Status.Objects, d.Status.Evidence = append(d.Status.Objects, object), append(d.Status.Evidence, evidence)
					}
					x.Put(d)
				}
				if second%5 == 0 || !due.IsZero() && !s.clock.Now().Before(due) {
					due = time.Time{}
					if again := s.pass(); again > 0 {
						due = s.clock.Now().Add(again)
					}
				}
				s.clock.Step(time.Second)
			}
			most := int(lasts / coalesce.RepeatEvery)
			if more := s.requests["PATCH"] - objects; s.requests["POST"] != objects || more < most-1 || more > most {
				t.Errorf("%v: %d writes of newer evidence in %s", s.requests, more, lasts)
			}
			for _, r := range s.reports() {
				if age := s.clock.Now().Sub(r.Status.ObservedTime.Time); age > time.Duration(objects+1)*coalesce.RepeatEvery || r.Status.ObservedTime.Time.Equal(began) {
					t.Errorf("the evidence about %s is %s old", r.Status.Object.Name, age)
				}
			}
		})
	}
}

func TestNewMembersOfAReportDoNotWaitForItsEvidence(t *testing.T) {
	s := newSite(t, "east", "west")
	s.list("east", "it crashes")
	s.pass()
	for _, log := range []string{"second", "third"} { // the second log is written, and the third one waits
		s.clock.Step(evidenceEvery)
		s.indexes["east"].Put(s.ill("it crashes", log))
		s.pass()
	}
	s.checkRequests(map[string]int{"POST": 1, "PATCH": 2})
	s.list("west", "it crashes")
	s.pass()
	s.check("it crashes: east west, sample of east")
	if log := s.reports()[0].Status.Containers[0].Log; log != "third" {
		t.Errorf("the report has the log %q", log)
	}
}

// A collector of another vendor may redact nothing.
func TestAReportIsRedactedBeforeItIsWritten(t *testing.T) {
	const secret = "password=CANARY-5b8e3f"
	written := ""
	c := interceptor.NewClient(nil, interceptor.Funcs{
		SubResourcePatch: func(_ context.Context, _ client.Client, _ string, obj client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
			data, err := patch.Data(obj)
			written = string(data)
			return err
		},
	})
	r := newRefusing()
	r.loop.client = c
	want := &v1alpha1.MemberReportStatus{Message: "it crashes: " + secret, Evidence: v1alpha1.Evidence{
		Events:     []v1alpha1.ObservedEvent{{Kind: "Pod", Name: "web-1", Message: secret}},
		Containers: []v1alpha1.ObservedContainer{{Pod: "web-1", Name: "app", Log: "starting\n" + secret, PreviousLog: secret}}}}
	for range 2 {
		if err := r.reconciliation().bring(t.Context(), "web", want); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(written, "CANARY") || strings.Count(written, "password=[redacted]") != 4 {
			t.Errorf("the patch is %s", written)
		}
		r.clock.Step(coalesce.RepeatEvery)
		written = "password=[redacted]password=[redacted]password=[redacted]password=[redacted]" // the second time, nothing is to be written
	}
}
