// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/testing/audit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// The work "trouble" measures the cost of evidence. It delivers 200 wrappers with a Deployment each to every member. First all
// Deployments are healthy, and then the pods of 50 crash. The pods are simulated. KWOK gives a crashing pod its first status, and the
// bench plays the kubelet that restarts its container.
const (
	troubleWork     = "trouble"
	troubleWrappers = 200
	troubleCrashing = 50
	// troubleTime is the time for which the work measures, once with healthy wrappers and once with crashing ones.
	troubleTime = 60 * time.Second
	// restartEvery is how often a container restarts. A kubelet waits longer after each crash, up to five minutes.
	restartEvery = 5 * time.Second
	// writesEvery is a limit: within this time, a wrapper with crashing pods may cause at most one write to the host.
	writesEvery = 10 * time.Second
)

// crashable returns a Deployment with one pod. The pod crashes if fails is "CrashLoopBackOff", and runs if it is "".
func crashable(name, fails string) *unstructured.Unstructured {
	return build.Manifest(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  strategy: {type: Recreate}
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s, fails: "%[2]s"}, annotations: {%[3]s}}
    spec: {containers: [{name: app, image: "example.com/app:1"}]}
`, name, fails, map[bool]string{true: "sandbox.fairlead.dev/fails: " + fails}[fails != ""])
}

// trouble runs the work "trouble".
func trouble(ctx context.Context, b *bed) (*reading, error) {
	if err := b.makeNamespaces(ctx, troubleWork); err != nil {
		return nil, err
	}
	var all []client.Object
	for i := range troubleWrappers {
		name := fmt.Sprintf("%s-%04d", troubleWork, i)
		all = append(all, build.Federated(name).In(fmt.Sprintf("%s-%d", troubleWork, i%namespaces)).ToMatching().With(crashable(name, "")).Obj())
	}
	if err := create(ctx, b.host, all); err != nil {
		return nil, err
	}
	if err := b.allReady(ctx, all); err != nil {
		return nil, err
	}
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	_, well, err := b.writesIn(ctx, troubleTime)
	if err != nil {
		return nil, err
	}
	if err := crash(ctx, b.host, all[:troubleCrashing]); err != nil {
		return nil, err
	}
	if err := b.untilEach(ctx, 2*time.Second, patience, crashesAreTold(b.host, troubleCrashing*len(b.members))); err != nil {
		return nil, err
	}
	// Not quiet: collectors look at what is in trouble again and again, so the processes are never idle.
	if err := b.untilEach(ctx, 2*time.Second, patience, evidenceIsThere(b.host, troubleCrashing)); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	kubelets, within := errgroup.WithContext(ctx)
	for _, c := range b.members {
		kubelets.Go(func() error { return c.restartContainers(within) })
	}
	r, inTrouble, err := b.writesIn(within, troubleTime)
	stop()
	if failed := kubelets.Wait(); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	periods := troubleTime.Seconds() / writesEvery.Seconds()
	r.More = map[string]float64{
		"wellHostWrites":                    float64(well.host),
		"wellMemberWrites":                  most(well.members),
		"hostWritesPerWrapperAndTenSeconds": float64(inTrouble.host) / troubleCrashing / periods,
		"busiestWrapperPerTenSeconds":       most(inTrouble.wrappers) / periods,
		"memberWritesPerPairAndTenSeconds":  most(inTrouble.members) / troubleCrashing / periods,
	}
	return r, nil
}

// crash changes the pods of these wrappers on the host so that they crash.
func crash(ctx context.Context, host client.Client, all []client.Object) error {
	return each(ctx, all, func(ctx context.Context, obj client.Object) error {
		w := &v1alpha1.Federated{}
		if err := host.Get(ctx, client.ObjectKeyFromObject(obj), w); err != nil {
			return err
		}
		w.Spec.Objects[0] = build.Raw(crashable(w.Name, "CrashLoopBackOff"))
		return host.Update(ctx, w)
	})
}

// crashesAreTold returns a condition that holds when the wrappers on the host report this many crashes. A wrapper that crashes counts
// once for each of its members.
func crashesAreTold(host client.Reader, want int) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		list := &v1alpha1.FederatedList{}
		if err := host.List(ctx, list); err != nil {
			return "", err
		}
		crashing := 0
		for i := range list.Items {
			for _, line := range list.Items[i].Status.Clusters {
				if line.State == v1alpha1.StateDegraded && line.Reason == "CrashLoopBackOff" {
					crashing++
				}
			}
		}
		if crashing < want {
			return fmt.Sprintf("the host tells of %d of %d crashes", crashing, want), nil
		}
		return "", nil
	}
}

// evidenceIsThere returns a condition that holds when the host has a MemberReport of this many wrappers.
func evidenceIsThere(host client.Reader, want int) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		list := &v1alpha1.MemberReportList{}
		if err := host.List(ctx, list); err != nil {
			return "", err
		}
		reported := make(map[types.UID]bool)
		for i := range list.Items {
			reported[list.Items[i].Spec.Wrapper.UID] = true
		}
		if len(reported) < want {
			return fmt.Sprintf("the host has evidence about %d of %d wrappers", len(reported), want), nil
		}
		return "", nil
	}
}

// restartContainers plays the kubelet: it counts a restart of every crashing container at the interval restartEvery, with an event, until
// ctx ends.
func (c *cluster) restartContainers(ctx context.Context) error {
	tick := time.NewTicker(restartEvery)
	defer tick.Stop()
	for count := int32(1); ; count++ {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := c.restartOnce(ctx, count); err != nil && ctx.Err() == nil {
			return fmt.Errorf("restarting containers on %s: %w", c.name, err)
		}
	}
}

func (c *cluster) restartOnce(ctx context.Context, count int32) error {
	pods := &corev1.PodList{}
	if err := c.List(ctx, pods, client.MatchingLabels{"fails": "CrashLoopBackOff"}); err != nil {
		return err
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		before, now := pod.DeepCopy(), metav1.Now()
		for k := range pod.Status.ContainerStatuses {
			s := &pod.Status.ContainerStatuses[k]
			s.RestartCount++
			if ended := s.LastTerminationState.Terminated; ended != nil {
				ended.StartedAt, ended.FinishedAt = now, now
			}
		}
		if err := c.Status().Patch(ctx, pod, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
			return err
		}
		if err := c.backOff(ctx, pod, now, count); err != nil {
			return err
		}
	}
	return nil
}

// backOff creates the event that a kubelet writes about a pod that crashes, or counts it once more.
func (c *cluster) backOff(ctx context.Context, pod *corev1.Pod, now metav1.Time, count int32) error {
	e := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name + ".backoff"}}
	e.InvolvedObject = corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
	e.Type, e.Reason, e.Message = corev1.EventTypeWarning, "BackOff", "Back-off restarting failed container app in pod "+pod.Name
	e.FirstTimestamp, e.LastTimestamp, e.Count, e.Source.Component = now, now, count, "kubelet"
	if count == 1 {
		return c.Create(ctx, e)
	}
	before := e.DeepCopy()
	before.Count, before.LastTimestamp = count-1, metav1.Time{}
	return client.IgnoreNotFound(c.Patch(ctx, e, client.MergeFrom(before)))
}

// written counts Fairlead's writes, without leases and heartbeats.
type written struct {
	host int
	// wrappers has the writes to each wrapper and its MemberReports on the host, and members those to each member.
	wrappers, members map[string]int
}

// writesIn measures for some time, and counts the writes.
func (b *bed) writesIn(ctx context.Context, span time.Duration) (*reading, *written, error) {
	m, err := b.measure(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer m.stop()
	if err := m.last(ctx, span); err != nil {
		return nil, nil, err
	}
	r, err := m.end(ctx, 0)
	if err != nil {
		return nil, nil, err
	}
	found := &written{wrappers: make(map[string]int), members: make(map[string]int)}
	for _, c := range b.clusters() {
		requests, err := m.marks[c.name].Requests(b.measured.sent, audit.Request.IsWrite, func(r audit.Request) bool {
			return r.Object.Resource != "leases" && !r.IsHeartbeat()
		})
		if err != nil {
			return nil, nil, err
		}
		if c.name != sandbox.HostName {
			found.members[c.name] = len(requests)
			continue
		}
		found.host = len(requests)
		for _, one := range requests {
			name, _, _ := strings.Cut(one.Object.Name, ".")
			found.wrappers[one.Object.Namespace+"/"+name]++
		}
	}
	return r, found, nil
}
