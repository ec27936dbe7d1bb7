// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/crdfields"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/member"
)

const (
	// inspectEvery is the time between two reads in two cases: the manager cannot watch the collector's Deployment, or
	// the member's CRDs lack a field. So within this time the status shows that a collector has stopped, or that a join
	// has updated the CRDs.
	inspectEvery = 20 * time.Second
	// inspectSoon is the time between two reads of a collector's Deployment while the collector does not run. It is
	// short, because a person may be repairing the collector and wait for the result.
	inspectSoon = 10 * time.Second
	// crdsEvery is the time between two reads of CRDs that lack no field. It is long, because fields disappear only if
	// a person applies older CRDs.
	crdsEvery = 10 * time.Minute
)

// collectorPods is the label selector of the pods of a collector on a member.
var collectorPods = labels.SelectorFromSet(membercollector.Labels()).String()

// inspection is what the manager has read about Fairlead's CRDs and the collector's Deployment on a member.
type inspection struct {
	// read is true once the manager has compared the CRDs.
	read bool
	// missing are the fields of the host's CRDs that the member's CRDs lack.
	missing []string
	// appliedBy is the version of the hostctl that applied the member's CRDs last; "" if unknown.
	appliedBy string
	// collector is the state of the collector's Deployment on the member. It is nil if the manager has not read the
	// Deployment yet, or if no collector should run on the member.
	collector *membercollector.State
}

// inspections keeps the last inspection of every member. It is safe for concurrent use.
type inspections struct {
	// news gets the name of a member whose inspection has a new result. It must not block.
	news func(name string)

	mu   sync.Mutex
	last map[string]inspection
}

func newInspections(news func(name string)) *inspections {
	return &inspections{news: news, last: make(map[string]inspection)}
}

func (i *inspections) of(name string) inspection {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.last[name]
}

func (i *inspections) forget(name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.last, name)
}

func (i *inspections) tell(name string, found inspection) {
	i.mu.Lock()
	isNew := !reflect.DeepEqual(i.last[name], found)
	i.last[name] = found
	i.mu.Unlock()
	if isNew {
		i.news(name)
	}
}

// keep inspects a member until ctx ends. If a read fails, the result of the last successful read stays: the probe, not
// the inspection, reports a member that does not answer.
func (i *inspections) keep(ctx context.Context, conn *member.Conn, deployed bool, clk clock.WithTicker) error {
	found := inspection{}
	var crdsRead time.Time
	var version string // the resourceVersion of the collector's Deployment at the last read
	watch := &collectorWatch{conn: conn, clock: clk}
	for {
		if !found.read || len(found.missing) > 0 || clk.Since(crdsRead) >= crdsEvery {
			if missing, by, err := inspectCRDs(ctx, conn); err == nil {
				found.missing, found.appliedBy, found.read, crdsRead = missing, by, true, clk.Now()
			} else if ctx.Err() == nil {
				log.FromContext(ctx).V(1).Info("could not read the member's CRDs to compare them with the host's; the manager tries again", "reason", err.Error())
			}
		}
		if deployed {
			state, read, err := inspectCollector(ctx, conn)
			if version = read; err == nil {
				found.collector = &state
			} else if ctx.Err() == nil {
				log.FromContext(ctx).V(1).Info("could not read the collector's Deployment on the member; the manager tries again", "reason", err.Error())
			}
		}
		if ctx.Err() != nil {
			return nil
		}
		i.tell(conn.Name(), found)
		var err error
		switch state := found.collector; {
		case state != nil && state.Reason != "":
			err = pause(ctx, clk, inspectSoon)
		case len(found.missing) > 0 || !found.read:
			err = pause(ctx, clk, inspectEvery)
		case deployed:
			err = watch.await(ctx, version, max(crdsEvery-clk.Since(crdsRead), settleFor))
		default:
			err = pause(ctx, clk, crdsEvery)
		}
		if err != nil {
			return nil
		}
	}
}

func pause(ctx context.Context, clk clock.WithTicker, wait time.Duration) error {
	timer := clk.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	}
}

// inspectCRDs reads the member's CRDs, and returns the fields that the host's CRDs have and the member's CRDs lack.
func inspectCRDs(ctx context.Context, conn *member.Conn) (missing []string, appliedBy string, err error) {
	for _, name := range permissions.MemberCRDs() {
		want, err := config.CustomResourceDefinition(name)
		if err != nil {
			return nil, "", err
		}
		answer, err := member.Do(ctx, conn.REST().Get().AbsPath(member.Path(crds, "", name)...), false)
		if err != nil {
			return nil, "", fmt.Errorf("reading CRD %s of member %s: %w", name, conn.Name(), err)
		}
		have := map[string]any{}
		if err := json.Unmarshal(answer.Body, &have); err != nil {
			return nil, "", fmt.Errorf("reading CRD %s of member %s: %w", name, conn.Name(), err)
		}
		if have["kind"] != "CustomResourceDefinition" {
			return nil, "", fmt.Errorf("reading CRD %s of member %s: the answer is no CustomResourceDefinition", name, conn.Name())
		}
		for _, field := range crdfields.Missing(want.Object, have) {
			missing = append(missing, want.GetName()[:len(name)-len(v1alpha1.Group)-1]+"."+field)
		}
		if metadata, _ := have["metadata"].(map[string]any); metadata != nil {
			annotations, _ := metadata["annotations"].(map[string]any)
			by, _ := annotations[v1alpha1.AnnotationVersion].(string)
			appliedBy = health.Clean(by, 64)
		}
	}
	return missing, appliedBy, nil
}

// inspectCollector reads the Deployment of the collector on the member. If not all its pods are available in the newest
// version, it also reads the pods. version is the resourceVersion of the Deployment; "" if the manager could not read
// it.
func inspectCollector(ctx context.Context, conn *member.Conn) (state membercollector.State, version string, err error) {
	path := member.Path(appsv1.SchemeGroupVersion.WithResource("deployments"), v1alpha1.SystemNamespace, membercollector.Name)
	answer, err := member.Do(ctx, conn.REST().Get().AbsPath(path...), false)
	switch {
	case apierrors.IsNotFound(err):
		return membercollector.StateOf(nil, nil), "", nil
	case apierrors.IsForbidden(err): // a person has removed the host's right to read the Deployment, so only the heartbeat shows whether the collector works
		return membercollector.State{Available: true}, "", nil
	case err != nil:
		return membercollector.State{}, "", fmt.Errorf("reading the collector's Deployment on member %s: %w", conn.Name(), err)
	}
	deployment, err := membercollector.DecodeDeployment(answer)
	if err != nil {
		return membercollector.State{}, "", fmt.Errorf("reading the collector's Deployment on member %s: %w", conn.Name(), err)
	}
	var pods []corev1.Pod
	if !membercollector.RolledOut(deployment) {
		path := member.Path(corev1.SchemeGroupVersion.WithResource("pods"), v1alpha1.SystemNamespace, "")
		answer, err := member.Do(ctx, conn.REST().Get().AbsPath(path...).Param("labelSelector", collectorPods).Param("limit", "50"), false)
		if err == nil {
			pods, err = membercollector.DecodePods(answer)
		}
		if err != nil && !apierrors.IsForbidden(err) { // without the permission to list pods, the manager judges by the Deployment alone
			return membercollector.State{}, "", fmt.Errorf("listing the collector's pods on member %s: %w", conn.Name(), err)
		}
	}
	return membercollector.StateOf(deployment, pods), deployment.ResourceVersion, nil
}
