// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// deletions is how many objects W4 deletes.
const deletions = 100

// bringBack runs the work W4: it deletes objects on one member, and waits until the manager has created them again. Seconds is the longest
// time between the deletion of an object and its return.
func bringBack(ctx context.Context, b *bed) (*reading, error) {
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	m, err := b.measure(ctx)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	victim := b.members[0]
	gone := make(map[string]time.Time)
	for _, w := range b.delivered[:min(deletions, len(b.delivered))] {
		obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.GetNamespace(), Name: w.GetName()}}
		gone[w.GetNamespace()+"/"+w.GetName()] = time.Now()
		if err := victim.Delete(ctx, obj); err != nil {
			return nil, err
		}
	}
	var took []time.Duration
	err = b.until(ctx, patience, func(context.Context) (string, error) {
		there, err := m.watched[victim.name].configMaps()
		if err != nil {
			return "", err
		}
		took = nil
		for key, since := range gone {
			if back, ok := there[key]; ok {
				took = append(took, back.at.Sub(since))
			}
		}
		if len(took) < len(gone) {
			return fmt.Sprintf("%d of %d deleted objects are back", len(took), len(gone)), nil
		}
		return "", nil
	})
	if err != nil {
		return nil, err
	}
	if err := b.allReady(ctx, b.delivered); err != nil {
		return nil, err
	}
	r, err := m.end(ctx, 0)
	if err == nil {
		slices.Sort(took)
		r.Seconds = round(took[len(took)-1].Seconds())
		r.More = map[string]float64{"medianSeconds": round(took[len(took)/2].Seconds())}
	}
	return r, err
}

// serveOthers runs the work W6: it delivers objects of a kind that the last member does not serve, and then installs the CRD there.
// Seconds is the time from the creation of that CRD until the member has the object.
func serveOthers(ctx context.Context, b *bed) (*reading, error) {
	const kind, plural, prefix = "Gauge", "gauges", "gauge"
	last := b.members[len(b.members)-1]
	for _, c := range b.members[:len(b.members)-1] {
		if err := c.Create(ctx, build.CRD(kind, plural)); err != nil {
			return nil, err
		}
	}
	if err := b.makeNamespaces(ctx, prefix); err != nil {
		return nil, err
	}
	m, err := b.measure(ctx)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	gauge := build.Manifest("{apiVersion: e2e.fairlead.dev/v1, kind: %s, metadata: {name: g}, spec: {size: 1}}", kind)
	w := build.Federated("gauge").In(prefix + "-0").ToMatching().With(gauge).Obj()
	if err := b.host.Create(ctx, w); err != nil {
		return nil, err
	}
	more := make(map[string]float64)
	since := time.Now()
	for _, c := range b.members[:len(b.members)-1] {
		if err := b.until(ctx, patience, c.serves(gauge, w.Namespace)); err != nil {
			return nil, err
		}
	}
	more["othersServedSeconds"] = round(time.Since(since).Seconds())
	err = b.until(ctx, patience, func(ctx context.Context) (string, error) {
		if err := b.host.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
			return "", err
		}
		for _, line := range w.Status.Clusters {
			if line.Name == last.name && line.Reason == v1alpha1.ReasonAPINotServed && strings.Contains(line.Message, kind) {
				return "", nil
			}
		}
		return "the wrapper's line for " + last.name + " does not have reason APINotServed yet", nil
	})
	if err != nil {
		return nil, err
	}
	more["toldSeconds"] = round(time.Since(since).Seconds())
	if err := last.Create(ctx, build.CRD(kind, plural)); err != nil {
		return nil, err
	}
	since = time.Now()
	if err := b.until(ctx, patience, last.serves(gauge, w.Namespace)); err != nil {
		return nil, err
	}
	served := time.Since(since)
	r, err := m.end(ctx, 1)
	if err == nil {
		r.Seconds, r.More = round(served.Seconds()), more
	}
	return r, err
}

// serves returns a condition for until: the cluster has the object.
func (c *cluster) serves(obj *unstructured.Unstructured, namespace string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		found := &unstructured.Unstructured{}
		found.SetGroupVersionKind(obj.GroupVersionKind())
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: obj.GetName()}, found); err != nil {
			return "it is not on " + c.name, nil //nolint:nilerr // the member does not serve the kind yet, or has no such object
		}
		return "", nil
	}
}
