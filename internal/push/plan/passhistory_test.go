// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
)

// digest is a Rendering with this digest that lists every object.
type digest string

func (d digest) Digest() string                     { return string(d) }
func (d digest) Lists(string, string, string) bool  { return true }
func (d digest) Render() (*render.Rendering, error) { return nil, errors.New("not needed") }

func desired() *Desired {
	return &Desired{Wrapper: v1alpha1.WrapperIdentity{UID: "w"}, Drift: v1alpha1.DriftRepair, Rendering: digest("1")}
}

// holding returns the summary of a Delivery that records the desired state of desired() and reports these drifts.
func holding(drifts ...v1alpha1.ObjectStatus) *deliveries.Summary {
	return &deliveries.Summary{UID: "d", Generation: 1, Wrapper: desired().Wrapper, Rendering: "1", Complete: true,
		Status: &v1alpha1.DeliveryStatus{Objects: drifts}}
}

func TestTheFirstPassOfAPairIsNewUnlessAListIsUnderWay(t *testing.T) {
	for isListing, isNew := range map[bool]bool{false: true, true: false} {
		todo, due, wake := (&History{}).Due(desired(), nil, nil, isListing, midnight)
		if !due || todo.IsNew != isNew || wake != 0 {
			t.Errorf("listing %v: due %v, new %v, wake %s", isListing, due, todo.IsNew, wake)
		}
	}
}

func TestSecretsAreCheckedOnlyAfterThePairIsDelivered(t *testing.T) {
	for name, test := range map[string]struct {
		seen *deliveries.Summary
		want []string
	}{
		"delivered":    {holding(), []string{"s"}},
		"nothing held": {nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			todo, due, _ := (&History{}).Due(desired(), test.seen, []string{"s"}, false, midnight)
			if diff := cmp.Diff(test.want, todo.Secrets); !due || diff != "" {
				t.Errorf("due %v, Secrets (-want +got):\n%s", due, diff)
			}
		})
	}
}

func TestDueReturnsTheWaitOfAContestedRepair(t *testing.T) {
	h, now := &History{}, midnight
	for range maxRepairs {
		seen := holding(drift(v1alpha1.DriftChanged, now.String()))
		todo, due, _ := h.Due(desired(), seen, nil, false, now)
		if !due {
			t.Fatal("a repair is not due")
		}
		h.Finished(Outcome{Done: true, Desired: desired(), UID: "d", Generation: 1}, &todo, seen, now)
		now = now.Add(time.Second)
	}
	seen := holding(drift(v1alpha1.DriftChanged, now.String()))
	_, due, wake := h.Due(desired(), seen, nil, false, now)
	if due || wake != firstApart-time.Second || h.Contested() == "" {
		t.Errorf("due %v, wake after %s, contested: %q", due, wake, h.Contested())
	}
	// The object does not drift for the whole repairWindow, so nothing of it is remembered.
	h.Settle(holding(), now)
	if wake := h.Settle(holding(), now.Add(repairWindow)); wake != 0 || len(h.repairs.backoffs) != 0 || h.Contested() != "" {
		t.Errorf("wake after %s, %d objects kept, contested: %q", wake, len(h.repairs.backoffs), h.Contested())
	}
}

func TestTheWaitAfterAFailedPassGrowsWithEachFailure(t *testing.T) {
	h := &History{}
	var waits []time.Duration
	for range 9 {
		waits = append(waits, h.Failed(desired(), errors.New("reset"), midnight)/time.Second)
	}
	if diff := cmp.Diff([]time.Duration{1, 2, 4, 8, 16, 32, 64, 120, 120}, waits); diff != "" {
		t.Errorf("seconds (-want +got):\n%s", diff)
	}
	h.Finished(Outcome{Done: true, Desired: desired()}, &Work{}, nil, midnight)
	h.ForgetOutcome()
	if !h.IsEmpty() {
		t.Errorf("kept: %+v", h)
	}
}
