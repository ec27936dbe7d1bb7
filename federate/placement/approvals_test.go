// SPDX-License-Identifier: Apache-2.0

package placement

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func (w *world) release(names ...string) {
	a := approval(v1alpha1.AllowRelease, "", names...)
	a.CreationTimestamp = metav1.NewTime(w.now.Truncate(time.Second))
	w.approvals = append(w.approvals, a)
	w.decide()
}

func (w *world) released() []string {
	var names []string
	for _, r := range w.status.Released {
		names = append(names, r.Name)
	}
	return names
}

func TestAReleasedMemberIsNotWaitedFor(t *testing.T) {
	w := newWorld(t, 10)
	w.label(false, "m00", "m01")
	w.release("m01")
	w.expect(8, 1, 0)
	if diff := cmp.Diff([]string{"m01"}, w.released()); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
	// The release stays valid if the Approval is deleted afterwards.
	w.approvals = nil
	w.decide()
	w.expect(8, 1, 0)
	if diff := cmp.Diff([]string{"m01"}, w.released()); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
	// When the MemberCluster is deleted, the next decision removes the member from the list released.
	delete(w.in, "m01")
	w.decide()
	if diff := cmp.Diff([]string(nil), w.released()); diff != "" {
		t.Errorf("released (-want +got):\n%s", diff)
	}
}

func TestAReleaseCountsOnce(t *testing.T) {
	w := newWorld(t, 10)
	w.label(false, "m00")
	w.release("m00")
	w.expect(9, 0, 0)
	w.later(time.Minute)
	w.label(true)
	w.expect(10, 0, 0)
	w.label(false, "m00")
	w.expect(9, 1, 0)
	w.release("m00")
	w.expect(9, 0, 0)
}

func TestAReleaseDoesNotAffectPlacedMembers(t *testing.T) {
	w := newWorld(t, 3)
	w.label(false)
	w.release("m00", "m01", "m02")
	w.expect(2, 0, 2)
}

func TestAReleaseThatCameTooLateDoesNotCountLater(t *testing.T) {
	w := newWorld(t, 10)
	w.label(false, "m00")
	w.left("m00") // the wrapper has left the member before the Approval is created
	w.release("m00")
	w.label(true)
	w.later(time.Minute)
	w.label(false, "m00")
	w.expect(9, 1, 0)
	w.release("m00")
	w.expect(9, 0, 0)
}

func TestAReleaseIsForOneWrapper(t *testing.T) {
	id := wrapper(1)
	others := []v1alpha1.Approval{approval(v1alpha1.AllowRemoval, "x", "m00"), approval(v1alpha1.AllowRelease, "", "m00")}
	others[1].Spec.Wrapper.UID = "v"
	still, released := Release(id, []string{"m00"}, nil, others)
	if diff := cmp.Diff([]string{"m00"}, still); diff != "" || len(released) > 0 {
		t.Errorf("released %v; still (-want +got):\n%s", released, diff)
	}
	id.Kind, id.Namespace = v1alpha1.KindClusterFederated, ""
	own := approval(v1alpha1.AllowRelease, "", "m00")
	own.Namespace, own.Spec.Wrapper.Kind = v1alpha1.SystemNamespace, v1alpha1.KindClusterFederated
	if still, _ = Release(id, []string{"m00"}, nil, []v1alpha1.Approval{own}); len(still) > 0 {
		t.Errorf("an Approval in %s does not release a ClusterFederated", v1alpha1.SystemNamespace)
	}
}

func TestAnApprovalBeginsTheRemoval(t *testing.T) {
	w := newWorld(t, 10)
	w.label(false)
	decision := w.status.Decision
	w.approve("m03", "m04")
	w.expect(5, 5, 5)
	if w.status.Decision != decision {
		t.Fatal("the rest of a removal is another one")
	}
	w.approve("m00", "m01", "m02", "m05", "m06", "m07", "m08", "m09")
	w.expect(0, 10, 0)
	// The approved removals have used up the limit of the hour, so the next removal has to wait.
	w.label(true, "m00")
	w.label(false)
	w.expect(1, 9, 1)
}

func TestApprovedRemovalsCountTowardsTheLimit(t *testing.T) {
	w := newWorld(t, 10)
	w.label(false)
	w.now = w.last.Again // from this time on, more removals may begin without an Approval
	w.approve("m03", "m04")
	w.expect(5, 5, 5)
}

func TestAnApprovalIsForItsOwnRemoval(t *testing.T) {
	for name, change := range map[string]func(w *world, a *v1alpha1.Approval){
		"another wrapper":                  func(_ *world, a *v1alpha1.Approval) { a.Spec.Wrapper.Name = "other" },
		"an earlier one of its name":       func(_ *world, a *v1alpha1.Approval) { a.Spec.Wrapper.UID = "v" },
		"another kind of its name":         func(_ *world, a *v1alpha1.Approval) { a.Spec.Wrapper.Kind = v1alpha1.KindClusterFederated },
		"one of another namespace":         func(_ *world, a *v1alpha1.Approval) { a.Namespace = "bank" },
		"another decision":                 func(_ *world, a *v1alpha1.Approval) { a.Spec.Decision = "0123456789abcdef" },
		"another act":                      func(_ *world, a *v1alpha1.Approval) { a.Spec.Allow = v1alpha1.AllowRelease },
		"other members":                    func(_ *world, a *v1alpha1.Approval) { a.Spec.Clusters = []string{"m00"} },
		"one that is being deleted":        func(_ *world, a *v1alpha1.Approval) { a.DeletionTimestamp = new(metav1.NewTime(start)) },
		"a spec that was edited meanwhile": func(w *world, _ *v1alpha1.Approval) { w.generation++ },
		"a removal that grew meanwhile":    func(w *world, _ *v1alpha1.Approval) { w.in["m10"] = false },
		"one that was called off and is new": func(w *world, _ *v1alpha1.Approval) {
			w.label(true)
			w.now = w.now.Add(time.Second)
			w.label(false, "m03", "m04")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 11)
			w.label(false, "m00", "m01", "m02", "m03", "m04")
			w.expect(8, 3, 2)
			a := approval(v1alpha1.AllowRemoval, w.status.Decision, "m03", "m04")
			change(w, &a)
			w.approvals = []v1alpha1.Approval{a}
			w.decide()
			for _, name := range []string{"m03", "m04"} {
				if !slices.Contains(w.status.Withheld, name) {
					t.Errorf("%s goes: withheld are %v", name, w.status.Withheld)
				}
			}
		})
	}
}
