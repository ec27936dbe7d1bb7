// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// toldWithin bounds the time from the first sign of a fault on a member until the host tells it. Times of objects have no fractions of a
// second, so a measured time can be up to a second too long.
const toldWithin = 15 * time.Second

// fault is something wrong on a member, and what the host has to tell about it. docs/troubleshooting.md has a table of these cases.
type fault struct {
	number  string // in that table
	name    string
	wrapper *build.Builder[*v1alpha1.Federated] // its namespace is set by the spec
	state   v1alpha1.ClusterState
	reason  string
	words   []string
	// evidence are words in the events, the container states and the logs of the wrapper's MemberReport. It is nil if the member shows
	// nothing beside the line: no event, and no pod.
	evidence []string
	// sign is a sign of the fault in the status of an object on the member. It is nil if no status shows the fault. Warning events are
	// signs of every fault.
	sign *sign
	// prepare creates the namespace on the member, and the cause of the fault. It is nil if the wrapper alone causes the fault.
	prepare func(ctx context.Context, member *TestCluster, namespace string)

	placed *v1alpha1.Federated
	// shown is the time of the first sign on the member, and shownBy is a description of that sign.
	shown   time.Time
	shownBy string
	// told is the time at which the line first had the reason and the words. The state Degraded can come later: it waits until the
	// collector finds the same reason a second time. evidenced is the time at which a MemberReport first had the evidence.
	told, evidenced time.Time
}

// member returns the only member on which the wrapper is placed.
func (f *fault) member() string { return f.wrapper.Obj().Spec.Placement.Clusters.Names[0] }

// note records a sign on the member, if it is the earliest so far. The zero time is no sign.
func (f *fault) note(at time.Time, by string) {
	if !at.IsZero() && (f.shown.IsZero() || at.Before(f.shown)) {
		f.shown, f.shownBy = at, by
	}
}

// noteSigns reads the signs on the member. It has to run again and again until the fault is told: a restart of a container, for example,
// overwrites the time of the first crash.
func (f *fault) noteSigns(ctx context.Context) {
	member, namespace := fleet.Member(f.member()), f.placed.Namespace
	if f.sign != nil {
		f.note(f.sign.at(ctx, member, namespace), f.sign.name)
	}
	events := &corev1.EventList{}
	if member.List(ctx, events, client.InNamespace(namespace)) != nil {
		return // the next poll reads them
	}
	for i := range events.Items {
		// A kubelet on a busy machine may have to make the sandbox of a pod twice, with any fault or none.
		if e := &events.Items[i]; e.Type == corev1.EventTypeWarning && e.Reason != "FailedCreatePodSandBox" {
			f.note(e.CreationTimestamp.Time, "first Warning event")
		}
	}
}

// isTold reports whether the wrapper's line on the host now has the reason and the words of the fault, and also its final state, and whether
// a MemberReport has had the evidence.
func (f *fault) isTold(ctx context.Context) bool {
	if f.told.IsZero() {
		f.noteSigns(ctx)
	}
	if f.evidenced.IsZero() && f.hasEvidence(ctx) {
		f.evidenced = time.Now()
	}
	if fleet.Host.Get(ctx, keyOf(f.placed), f.placed) != nil {
		return false
	}
	line := lineOf(f.placed, f.member())
	if line.Reason != f.reason {
		return false
	}
	for _, word := range f.words {
		if !strings.Contains(line.Message, word) {
			return false
		}
	}
	if f.told.IsZero() {
		f.told = time.Now()
		f.noteSigns(ctx)
	}
	return line.State == f.state && !f.evidenced.IsZero()
}

// hasEvidence reports whether a MemberReport of the wrapper has all words of the evidence. A fault without evidence has it.
func (f *fault) hasEvidence(ctx context.Context) bool {
	if len(f.evidence) == 0 {
		return true
	}
	reports := &v1alpha1.MemberReportList{}
	if fleet.Host.List(ctx, reports, client.InNamespace(f.placed.Namespace)) != nil {
		return false // the next poll reads them
	}
	return slices.ContainsFunc(reports.Items, func(r v1alpha1.MemberReport) bool {
		content, err := json.Marshal(r.Status.Evidence)
		Expect(err).NotTo(HaveOccurred())
		return r.Spec.Wrapper.Name == f.placed.Name && !slices.ContainsFunc(f.evidence, func(word string) bool { return !strings.Contains(string(content), word) })
	})
}

// untold returns a description of each fault that the host does not tell yet.
func untold(ctx context.Context, faults []*fault) (all []string) {
	for _, f := range faults {
		if !f.isTold(ctx) {
			line := lineOf(f.placed, f.member())
			all = append(all, fmt.Sprintf("case %s (%s) has %s %s: %s; a report with its evidence: %t", f.number, f.name, line.State, line.Reason, line.Message, !f.evidenced.IsZero()))
		}
	}
	return all
}

// expectTold makes all faults, and waits until the host tells each of them. Each has to be told within toldWithin of its first sign on
// the member; without a sign, of the creation of the wrapper. That includes the evidence. hostctl describe has to show the line first, with
// the next step. expectTold adds these times to the spec's report, and what hostctl shows. The parameter within bounds the wait, which
// includes the time until a member shows its fault.
func expectTold(ctx context.Context, faults []*fault, within time.Duration) {
	GinkgoHelper()
	for _, f := range faults {
		if f.wrapper.Obj().Namespace == "" {
			f.wrapper.In(newShop(ctx))
		}
		if f.prepare != nil {
			f.prepare(ctx, fleet.Member(f.member()), f.wrapper.Obj().Namespace)
		}
	}
	for i, f := range faults {
		f.placed = author(ctx, f.wrapper)
		untold(ctx, faults[:i+1]) // notes what is told while the last wrappers are being made
	}
	Eventually(ctx, func() []string { return untold(ctx, faults) }).WithTimeout(within).Should(BeEmpty())
	var late []string
	for _, f := range faults {
		if f.shown.IsZero() {
			f.note(f.placed.CreationTimestamp.Time, "creation of the wrapper")
		}
		took := fmt.Sprintf("case %s (%s): told %.1f s after the %s", f.number, f.name, f.told.Sub(f.shown).Seconds(), f.shownBy)
		if len(f.evidence) > 0 {
			took += fmt.Sprintf(", its evidence after %.1f s", f.evidenced.Sub(f.shown).Seconds())
		}
		described := fleet.Hostctl(ctx, "describe", f.placed.Name, "-n", f.placed.Namespace).Stdout
		AddReportEntry(took, described)
		Expect(described).To(And(ContainSubstring("\n1. "+f.reason+" on 1 member, "+string(f.state)+": "+f.member()+"\n"), ContainSubstring("\n   next: ")))
		if f.told.Sub(f.shown) > toldWithin || len(f.evidence) > 0 && f.evidenced.Sub(f.shown) > toldWithin {
			late = append(late, took)
		}
	}
	Expect(late).To(BeEmpty(), "the host must tell each fault within %s of its first sign", toldWithin)
}

// sign is a sign of a fault in the status of objects on a member.
type sign struct {
	name string
	// at returns the time of the earliest sign in a namespace, or the zero time if there is none yet.
	at func(ctx context.Context, member *TestCluster, namespace string) time.Time
}

// earlier returns the earlier of two times. The zero time stands for no time.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// signIn returns a sign that the function at finds in single objects of a kind.
func signIn(kind, name string, at func(*unstructured.Unstructured) time.Time) *sign {
	return &sign{name: name, at: func(ctx context.Context, member *TestCluster, namespace string) (first time.Time) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(gvkOf(kind))
		if member.List(ctx, list, client.InNamespace(namespace)) != nil {
			return first // the next poll reads them
		}
		for i := range list.Items {
			first = earlier(first, at(&list.Items[i]))
		}
		return first
	}}
}

// created returns the creation of the first object of a kind. It is the sign of a fault that the object has from its creation on.
func created(kind string) *sign {
	return signIn(kind, "creation of the "+gvkOf(kind).Kind, func(obj *unstructured.Unstructured) time.Time { return obj.GetCreationTimestamp().Time })
}

// conditionTrue returns the time since which a condition of an object is True.
func conditionTrue(kind, condition string) *sign {
	return signIn(kind, "condition "+condition+" of the "+gvkOf(kind).Kind, func(obj *unstructured.Unstructured) time.Time {
		conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		for _, c := range conditions {
			if c, ok := c.(map[string]any); ok && c["type"] == condition && c["status"] == string(corev1.ConditionTrue) {
				return timeIn(c, "lastTransitionTime")
			}
		}
		return time.Time{}
	})
}

// timeIn returns the time in a field, or the zero time if there is none.
func timeIn(content map[string]any, path ...string) time.Time {
	value, _, _ := unstructured.NestedString(content, path...)
	at, _ := time.Parse(time.RFC3339, value)
	return at
}

// notConnected is the time at which OLM first tried to connect to a catalog.
var notConnected = signIn("CatalogSource.v1alpha1.operators.coreos.com", "connection state of the CatalogSource", func(obj *unstructured.Unstructured) time.Time {
	return timeIn(obj.Object, "status", "connectionState", "lastConnect")
})

// podFails is the earliest sign in the status of a pod: the pod is not scheduled, or a container has ended, cannot start, or runs and is not
// ready.
var podFails = &sign{name: "status of the pod", at: func(ctx context.Context, member *TestCluster, namespace string) (first time.Time) {
	pods := &corev1.PodList{}
	if member.List(ctx, pods, client.InNamespace(namespace)) != nil {
		return first // the next poll reads them
	}
	for i := range pods.Items {
		status := &pods.Items[i].Status
		for j := range status.ContainerStatuses {
			first = earlier(first, containerFails(&status.ContainerStatuses[j], falseSince(status, corev1.ContainersReady)))
		}
		first = earlier(first, falseSince(status, corev1.PodScheduled))
	}
	return first
}}

// containerFails returns the earliest sign in the status of a container. The status has no time for a container that waits: notReady is the
// time since which the pod's containers are not ready.
func containerFails(c *corev1.ContainerStatus, notReady time.Time) (first time.Time) {
	for _, ended := range []*corev1.ContainerStateTerminated{c.State.Terminated, c.LastTerminationState.Terminated} {
		if ended != nil {
			first = earlier(first, ended.FinishedAt.Time)
		}
	}
	switch waits, runs := c.State.Waiting, c.State.Running; {
	case runs != nil && !c.Ready:
		first = earlier(first, runs.StartedAt.Time)
	case waits != nil && waits.Reason != "ContainerCreating":
		first = earlier(first, notReady)
	}
	return first
}

// falseSince returns the time since which a condition of a pod is False, or the zero time if it is not.
func falseSince(pod *corev1.PodStatus, condition corev1.PodConditionType) time.Time {
	for _, c := range pod.Conditions {
		if c.Type == condition && c.Status == corev1.ConditionFalse {
			return c.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
