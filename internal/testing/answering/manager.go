// SPDX-License-Identifier: Apache-2.0

package answering

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Manager answers requests.
type Manager struct {
	// Scripts has a script for each member. It runs at each watch of a MemberReport about that member. A member without a script does
	// not answer.
	Scripts map[string]func(*Request)
	// Refuse returns the error with which the host refuses an API request about a MemberReport; nil lets it through. verb is create,
	// delete or watch. If Refuse is nil, the host refuses nothing.
	Refuse func(verb string, r *v1alpha1.MemberReport) error
	// Clock is the host's clock.
	Clock func() time.Time

	mu      sync.Mutex
	created []*v1alpha1.MemberReport
	deleted []string
}

// Created returns the requests that the command has created, in their order.
func (m *Manager) Created() []*v1alpha1.MemberReport {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.created
}

// Deleted returns the names of the requests that the command has deleted.
func (m *Manager) Deleted() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.deleted
}

// Host returns the host with this manager. The fake host gives objects neither uids nor times, so the manager does.
func (m *Manager) Host(t *testing.T, host client.WithWatch) client.WithWatch {
	t.Helper()
	return interceptor.NewClient(host, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			r, ok := obj.(*v1alpha1.MemberReport)
			if !ok {
				t.Errorf("the command creates %T", obj)
			}
			if err := m.refusal("create", r); err != nil {
				return err
			}
			m.mu.Lock()
			// The suffix tells the requests about several objects on one member apart.
			suffix := r.Spec.Cluster
			if slices.ContainsFunc(m.created, func(known *v1alpha1.MemberReport) bool { return known.Spec.Cluster == r.Spec.Cluster }) {
				suffix += "-" + r.Spec.Object.Name
			}
			r.Name, r.UID, r.CreationTimestamp = r.GenerateName+suffix, types.UID("uid-"+suffix), metav1.NewTime(m.Clock())
			m.created = append(m.created, r.DeepCopy())
			m.mu.Unlock()
			return c.Create(ctx, obj, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			r, _ := obj.(*v1alpha1.MemberReport)
			options := (&client.DeleteOptions{}).ApplyOptions(opts)
			if r == nil || options.Preconditions == nil || *options.Preconditions.UID != r.UID || ctx.Err() != nil {
				t.Errorf("the command deletes %T with %+v (%v)", obj, options, ctx.Err())
			}
			if err := m.refusal("delete", r); err != nil {
				return err
			}
			m.mu.Lock()
			m.deleted = append(m.deleted, r.Name)
			m.mu.Unlock()
			return c.Delete(ctx, obj)
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
			options := (&client.ListOptions{}).ApplyOptions(opts)
			if _, ok := list.(*v1alpha1.MemberReportList); !ok || options.FieldSelector == nil || options.Raw == nil || options.Raw.ResourceVersion == "" {
				t.Errorf("the command watches %T with %+v", list, options)
			}
			name, _ := options.FieldSelector.RequiresExactMatch("metadata.name")
			r := &v1alpha1.MemberReport{}
			if err := c.Get(ctx, client.ObjectKey{Namespace: options.Namespace, Name: name}, r); err != nil {
				return nil, err
			}
			if err := m.refusal("watch", r); err != nil {
				return nil, err
			}
			watcher := &watcher{events: make(chan watch.Event), stopped: make(chan struct{})}
			if script := m.Scripts[r.Spec.Cluster]; script != nil {
				go script(&Request{Report: r, host: c, watcher: watcher, t: t, ctx: ctx})
			}
			return watcher, nil
		},
	})
}

func (m *Manager) refusal(verb string, r *v1alpha1.MemberReport) error {
	if m.Refuse == nil {
		return nil
	}
	return m.Refuse(verb, r)
}

// Request is a request that the command watches.
type Request struct {
	Report  *v1alpha1.MemberReport
	host    client.WithWatch
	watcher *watcher
	t       *testing.T
	ctx     context.Context //nolint:containedctx // the context of the watch that a script answers
}

// Answer answers with these containers.
func (r *Request) Answer(containers ...v1alpha1.ObservedContainer) {
	r.State(v1alpha1.MemberReportStatus{Reason: v1alpha1.ReasonAnswered, Evidence: v1alpha1.Evidence{Containers: containers}})
}

// Refuse gives the request a reason other than Answered.
func (r *Request) Refuse(reason, message string) {
	r.State(v1alpha1.MemberReportStatus{Reason: reason, Message: message})
}

// State gives the request a status. When State returns, the command has received this status. So it has finished its
// work on the previous status.
func (r *Request) State(status v1alpha1.MemberReportStatus) {
	r.Report.Status = status
	if err := r.host.Update(context.WithoutCancel(r.ctx), r.Report); err != nil && !apierrors.IsNotFound(err) {
		r.t.Errorf("writing the status of a request: %v", err)
	}
	r.watcher.send(watch.Modified, r.Report.DeepCopy())
}

// Flush returns when the command has printed all states. It sends the last state again, which changes nothing.
func (r *Request) Flush() {
	for range 2 {
		r.watcher.send(watch.Modified, r.Report.DeepCopy())
	}
}

// Delete deletes the request, as the manager does when it expires.
func (r *Request) Delete() {
	if err := r.host.Delete(context.WithoutCancel(r.ctx), r.Report); err != nil {
		r.t.Errorf("deleting a request: %v", err)
	}
	r.watcher.send(watch.Deleted, r.Report.DeepCopy())
}

// Close ends the watch, as the API server does after some time.
func (r *Request) Close() { close(r.watcher.events) }

// watcher is a watch whose events wait until the command takes them, or stops the watch.
type watcher struct {
	events  chan watch.Event
	stopped chan struct{}
	once    sync.Once
}

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.events }

// Stop implements watch.Interface.
func (w *watcher) Stop() { w.once.Do(func() { close(w.stopped) }) }

func (w *watcher) send(change watch.EventType, r *v1alpha1.MemberReport) {
	select {
	case w.events <- watch.Event{Type: change, Object: r}:
	case <-w.stopped:
	}
}
