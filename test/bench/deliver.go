// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

const (
	namespaces = 10
	// payload is the size of a ConfigMap's data, in bytes.
	payload = 1024
	// authors is how many wrappers the bench writes at the same time.
	authors = 16
	// patience is the longest time for which the bench waits for a condition. After it, the work has failed.
	patience = 10 * time.Minute
)

// wrappersOf returns n wrappers of a federation, spread over the namespaces PREFIX-0, PREFIX-1, … Each has one ConfigMap of 1 KiB, and is
// placed on every member.
func wrappersOf(f federation, prefix string, n int) []client.Object {
	var all []client.Object
	for i := range n {
		all = append(all, f.wrap(fmt.Sprintf("%s-%d", prefix, i%namespaces), fmt.Sprintf("%s-%04d", prefix, i)))
	}
	return all
}

// painted returns a ConfigMap of 1 KiB whose key colour has this number. Works change the number to change the object.
func painted(name string, colour int) *unstructured.Unstructured {
	return build.ConfigMap(name, "colour", fmt.Sprint(colour), "payload", strings.Repeat("x", payload))
}

// each calls the function do for every wrapper, with up to 16 calls at the same time.
func each(ctx context.Context, all []client.Object, do func(context.Context, client.Object) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(authors)
	for _, w := range all {
		g.Go(func() error { return do(ctx, w) })
	}
	return g.Wait()
}

// create creates the wrappers on the host. The namespaces have to exist.
func create(ctx context.Context, host client.Writer, all []client.Object) error {
	return each(ctx, all, func(ctx context.Context, w client.Object) error { return host.Create(ctx, w) })
}

// makeNamespaces creates the wrappers' namespaces on the host. It waits until the controllers of Kubernetes have created the objects
// that each namespace gets, so that their requests do not count in the work.
func (b *bed) makeNamespaces(ctx context.Context, prefix string) error {
	for i := range namespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", prefix, i)}}
		if err := b.host.Create(ctx, ns); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		err := b.until(ctx, patience, func(ctx context.Context) (string, error) {
			for name, obj := range map[string]client.Object{"default": &corev1.ServiceAccount{}, "kube-root-ca.crt": &corev1.ConfigMap{}} {
				if err := b.host.Get(ctx, client.ObjectKey{Namespace: ns.Name, Name: name}, obj); err != nil {
					return "namespace " + ns.Name + " lacks " + name + " yet", client.IgnoreNotFound(err)
				}
			}
			return "", nil
		})
		if err != nil {
			return err
		}
		if err := b.measured.open(ctx, b, ns); err != nil {
			return err
		}
	}
	return nil
}

// allReady waits until every wrapper is Ready at its present generation.
func (b *bed) allReady(ctx context.Context, all []client.Object) error {
	generations := make(map[client.ObjectKey]int64, len(all))
	for _, w := range all {
		generations[client.ObjectKeyFromObject(w)] = w.GetGeneration()
	}
	// Poll rarely: to list all wrappers often would cost more CPU than the work that the bench measures.
	return b.untilEach(ctx, 2*time.Second, patience, func(ctx context.Context) (string, error) {
		at, err := b.measured.ready(ctx, b)
		if err != nil {
			return "", err
		}
		ready := 0
		for key, generation := range at {
			if generation >= generations[key] {
				ready++
			}
		}
		if ready >= len(all) {
			return "", nil
		}
		return fmt.Sprintf("%d of %d are ready", ready, len(all)), nil
	})
}

// allThere waits until n ConfigMaps whose names begin with prefix are on every member, and were created or changed since the meter
// started. It returns the time of the last such change.
func (m *meter) allThere(ctx context.Context, prefix string, n int) (last time.Time, err error) {
	err = m.bed.until(ctx, patience, func(context.Context) (string, error) {
		for _, c := range m.bed.members {
			found, err := m.watched[c.name].configMaps()
			if err != nil {
				return "", err
			}
			there := 0
			for key, a := range found {
				if strings.HasPrefix(key, prefix+"-") && strings.Contains(key, "/"+prefix+"-") {
					there++
					if a.at.After(last) {
						last = a.at
					}
				}
			}
			if there < n {
				return fmt.Sprintf("%d of %d are on %s", there, n, c.name), nil
			}
		}
		return "", nil
	})
	return last, err
}

// deliver runs the work W1: it delivers the objects to the members.
func deliver(ctx context.Context, b *bed) (*reading, error) {
	const prefix = "bench"
	if err := b.makeNamespaces(ctx, prefix); err != nil {
		return nil, err
	}
	if b.peer != "" { // a peer may still be federating the namespaces, and that CPU time must not count; Fairlead waits as well, so that both are measured alike
		if err := b.quiet(ctx); err != nil {
			return nil, err
		}
	}
	stop, err := b.profile(ctx, deliverWork)
	if err != nil {
		return nil, err
	}
	r, all, err := b.deliver(ctx, prefix, b.objects)
	b.delivered = all
	return r, errors.Join(err, stop())
}

// deliver creates n wrappers, waits until all are Ready, and returns the cost.
func (b *bed) deliver(ctx context.Context, prefix string, n int) (*reading, []client.Object, error) {
	m, err := b.measure(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer m.stop()
	all := wrappersOf(b.measured, prefix, n)
	if err := create(ctx, b.host, all); err != nil {
		return nil, nil, err
	}
	last, err := m.allThere(ctx, prefix, n)
	if err != nil {
		return nil, nil, err
	}
	if err := b.allReady(ctx, all); err != nil {
		return nil, nil, err
	}
	r, err := m.end(ctx, n)
	if err == nil {
		r.Seconds = round(last.Sub(m.started).Seconds())
	}
	return r, all, err
}

// change runs the work W3: it changes one field of every object.
func change(ctx context.Context, b *bed) (*reading, error) {
	stop, err := b.profile(ctx, "W3")
	if err != nil {
		return nil, err
	}
	m, err := b.measure(ctx)
	if err != nil {
		return nil, err
	}
	defer m.stop()
	b.painted++
	err = each(ctx, b.delivered, func(ctx context.Context, w client.Object) error {
		for { // retry on a conflict: the manager may write the status in between
			if err := b.host.Get(ctx, client.ObjectKeyFromObject(w), w); err != nil {
				return err
			}
			b.measured.paint(w, b.painted)
			if err := b.host.Update(ctx, w); !apierrors.IsConflict(err) {
				return err
			}
		}
	})
	if err != nil {
		return nil, err
	}
	last, err := m.allThere(ctx, "bench", len(b.delivered))
	if err != nil {
		return nil, err
	}
	if err := b.allReady(ctx, b.delivered); err != nil {
		return nil, err
	}
	r, err := m.end(ctx, 0)
	if err == nil {
		r.Seconds = round(last.Sub(m.started).Seconds())
	}
	return r, errors.Join(err, stop())
}
