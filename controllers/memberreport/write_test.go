// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"context"
	"errors"
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

// bring writes a report with this message once, and returns the time after which the loop tries again.
func (r *refusing) bring(t *testing.T, message string) time.Duration {
	t.Helper()
	log := funcr.New(func(string, string) { r.logged++ }, funcr.Options{})
	p := &reconciliation{Reconciler: r.loop, id: v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, Namespace: "shop"}, now: r.clock.Now(), known: r.known}
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
		if err := p.patch(t.Context(), name, is, &status); err != nil || p.again != refusedAgain {
			t.Errorf("again in %s, error %v", p.again, errors.Unwrap(err))
		}
	}
	if len(known.byName) != 1 {
		t.Errorf("known: %v", known.byName)
	}
}
