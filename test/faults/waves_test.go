// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// inWaves returns a state whose rollout changes east first, and then west. The content of all its objects is the given number, so
// that checkOrder can tell the changes apart.
func inWaves(number string) *desiredState {
	return &desiredState{objects: map[string]string{"a": number, "b": number}, members: both, waves: true}
}

// waiting returns the same state as inWaves, but the wave of west waits for its Approval. Until then west has the objects in the
// parameter earlier, which may be nil.
func waiting(number string, earlier map[string]string) *desiredState {
	w := inWaves(number)
	w.asks, w.still, w.rests = true, map[string]map[string]string{"west": earlier}, "Progressing "+v1alpha1.ReasonWaveNeedsApproval
	return w
}

// letBegin returns the state in which the author approves the wave of west. In a scenario it comes after the state that waiting
// returns for the same number.
func letBegin(number string) *desiredState {
	w := inWaves(number)
	w.asks, w.approved = true, true
	return w
}

// takenBack returns the same state as inWaves, with an object that east refuses. So the manager takes both members back to the
// objects in the parameter earlier.
func takenBack(number string, earlier map[string]string) *desiredState {
	w := inWaves(number)
	w.objects["b"] = refused
	w.rollsBack, w.rests = true, string(v1alpha1.RolloutRolledBack)+" "+v1alpha1.ReasonRolloutStopped
	w.still = map[string]map[string]string{"east": earlier, "west": earlier}
	return w
}

// rollouts kill the manager during a rollout in two waves. In each, checkOrder fails the test if west changes before east.
var rollouts = map[string]scenario{
	"a first delivery goes out in waves": {
		during: []*desiredState{inWaves("1")},
	},
	"a change goes out in waves": {
		before: []*desiredState{inWaves("1")}, during: []*desiredState{inWaves("2")},
	},
	"a change goes out in waves, and another change replaces it": {
		before: []*desiredState{inWaves("1")}, during: []*desiredState{inWaves("2")}, dead: []*desiredState{inWaves("3")},
	},
	"a wave waits for its Approval": {
		before: []*desiredState{inWaves("1")}, during: []*desiredState{waiting("2", inWaves("1").objects)},
		later: []*desiredState{letBegin("2")},
	},
	"a wave of a first delivery waits for its Approval": {
		during: []*desiredState{waiting("1", nil)},
		later:  []*desiredState{letBegin("1")},
	},
	"a wave is approved": {
		before: []*desiredState{inWaves("1"), waiting("2", inWaves("1").objects)}, during: []*desiredState{letBegin("2")},
	},
	"a change fails in the first wave, and the manager takes the fleet back": {
		before: []*desiredState{inWaves("1")}, during: []*desiredState{takenBack("2", inWaves("1").objects)},
		later: []*desiredState{inWaves("3")},
	},
}

func TestTheManagerMayDieDuringARollout(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	f.mortal = func(t *testing.T, e end) *life { return born(t, manager, f.manager, e) }
	f.tryAll(t, maps.Clone(rollouts))
}

func (w *desiredState) rolloutWaves() []v1alpha1.RolloutWave {
	last := build.Wave("rest")
	if w.asks {
		last.Approval = v1alpha1.WaveManual
	}
	return []v1alpha1.RolloutWave{build.Wave("canary", east...), last}
}

// approveWave approves the wave of west (its name is "rest") in the present rollout.
func (a *author) approveWave() {
	a.t.Helper()
	w := a.wrapper()
	err := a.host.Get(a.t.Context(), client.ObjectKeyFromObject(w), w)
	if err == nil {
		err = a.host.Create(a.t.Context(), &v1alpha1.Approval{
			ObjectMeta: metav1.ObjectMeta{Namespace: a.shop, GenerateName: "wave-"},
			Spec: v1alpha1.ApprovalSpec{
				Wrapper: v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: w.Name, UID: w.UID},
				Allow:   v1alpha1.AllowWave, Wave: "rest", Rollout: w.Status.Rollout.ID, Revision: w.Status.Rollout.Revision,
			},
		})
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// checkOrder returns an error if west has an object of a change that east does not have completely. It reads west first: if it
// read east first, east could get a change between the two reads.
func (a *author) checkOrder(ctx context.Context, last *desiredState) error {
	if last == nil || !last.waves {
		return nil
	}
	onWest, err := a.objectsOn(ctx, "west")
	if err != nil {
		return err
	}
	onEast, err := a.objectsOn(ctx, "east")
	if err != nil {
		return err
	}
	complete := 0
	if all := changesOf(onEast); len(all) == len(last.objects) {
		complete = slices.Min(all)
	}
	if newest := slices.Max(append(changesOf(onWest), 0)); newest > complete {
		a.t.Errorf("west has objects of change %d before its wave: east has %q, and west %q",
			newest, slices.Sorted(maps.Keys(onEast)), slices.Sorted(maps.Keys(onWest)))
	}
	return nil
}

// changesOf returns the numbers of the changes that the objects' contents show. See inWaves.
func changesOf(objects map[string]client.Object) []int {
	numbers := make([]int, 0, len(objects))
	for name := range objects {
		_, content, _ := strings.Cut(name, "=")
		if n, err := strconv.Atoi(content); err == nil {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
