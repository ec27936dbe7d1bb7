// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/meta"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate"
)

const (
	// maxHeld is how many bytes of memory, about, all that a collector holds of its member may take. A hundred thousand
	// objects take a third of that.
	maxHeld = 128 << 20
	// maxPages ends a list that has no end.
	maxPages = 200
)

// errTooMuch says that there is more on the member than a collector holds.
var errTooMuch = fmt.Errorf("it takes more than the %d MiB of memory that a collector has for one member", maxHeld>>20)

// larder is where everything from the member comes in: each object is cut down, on arrival, to what is held of it, and
// weighed with what is held already. What is too much is not taken, and the list or watch that brings it ends. One
// reflector uses it, for one list and the watches after it.
type larder struct {
	source cache.ListerWatcherWithContext
	trim   cache.TransformFunc
	// total is the weight of what all larders of the collector hold.
	total *atomic.Int64
	pages int

	// The reflector leaves without waiting for the pages and events that are on their way to it.
	mu sync.Mutex
	// held are the weights of what this one does, by namespace and name.
	held map[string]int64
	// shut: nobody is there any more to hold what still comes.
	shut bool
}

var _ cache.ListerWatcherWithContext = &larder{}

// empty gives back what was held.
func (l *larder) empty() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, weight := range l.held {
		l.total.Add(-weight)
	}
	clear(l.held)
}

// close gives back what was held, for good.
func (l *larder) close() {
	l.mu.Lock()
	l.shut = true
	l.mu.Unlock()
	l.empty()
}

// take notes what an object weighs now, 0 when it is gone, and says whether there is room for that.
func (l *larder) take(key string, weight int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut {
		return false
	}
	more := weight - l.held[key]
	if l.total.Add(more) > maxHeld && more > 0 {
		l.total.Add(-more)
		return false
	}
	if l.held[key] = weight; weight == 0 {
		delete(l.held, key)
	}
	return true
}

// cut cuts an object down, and takes it.
func (l *larder) cut(obj runtime.Object) (runtime.Object, error) {
	trimmed, err := l.trim(obj)
	if err != nil {
		return nil, err
	}
	is, ok := trimmed.(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("trimming: got a %T", trimmed)
	}
	about, err := meta.Accessor(is)
	if err != nil {
		return nil, err
	}
	if !l.take(cache.MetaObjectToName(about).String(), weightOf(is)) {
		return nil, errTooMuch
	}
	return is, nil
}

// ListWithContext implements cache.ListerWithContext.
func (l *larder) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.Continue == "" {
		l.empty()
		l.pages = 0
	}
	if l.pages++; l.pages > maxPages {
		return nil, fmt.Errorf("the list goes on after %d pages", maxPages)
	}
	whole, err := l.source.ListWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	about, err := meta.ListAccessor(whole)
	if err != nil {
		return nil, err
	}
	page := &metainternal.List{ListMeta: metav1.ListMeta{ResourceVersion: about.GetResourceVersion(), Continue: about.GetContinue()}}
	err = meta.EachListItem(whole, func(obj runtime.Object) error {
		is, err := l.cut(obj)
		page.Items = append(page.Items, is)
		return err
	})
	return page, err
}

// WatchWithContext implements cache.WatcherWithContext.
func (l *larder) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		l.empty() // it begins with a list of its own
	}
	whole, err := l.source.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	return newCutting(whole, l.cutEvent), nil
}

// cutting is a watch whose events are cut down. Unlike watch.Filter it ends when it is stopped, also with an event in hand.
type cutting struct {
	whole  watch.Interface
	events chan watch.Event
	// done is closed when it is stopped, ended when nothing of it is left.
	done, ended chan struct{}
	stop        sync.Once
}

func newCutting(whole watch.Interface, cut func(watch.Event) (watch.Event, bool)) *cutting {
	c := &cutting{whole: whole, events: make(chan watch.Event), done: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		defer close(c.events)
		for e := range whole.ResultChan() {
			cutDown, ok := cut(e)
			if !ok {
				continue
			}
			select {
			case c.events <- cutDown:
			case <-c.done:
				return
			}
		}
	}()
	return c
}

// ResultChan implements watch.Interface.
func (c *cutting) ResultChan() <-chan watch.Event { return c.events }

// Stop implements watch.Interface.
func (c *cutting) Stop() {
	c.stop.Do(func() {
		close(c.done)
		c.whole.Stop()
	})
}

func (l *larder) cutEvent(e watch.Event) (watch.Event, bool) {
	switch e.Type {
	case watch.Error:
		return e, true
	case watch.Added, watch.Modified:
		is, err := l.cut(e.Object)
		if err != nil {
			return watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}}, true
		}
		e.Object = is
		return e, true
	}
	// What is gone, or tells of a version only, is not held: but what is handed on is of the same type.
	end := ""
	if about, err := meta.Accessor(e.Object); err == nil {
		end = about.GetAnnotations()[metav1.InitialEventsAnnotationKey]
	}
	trimmed, err := l.trim(e.Object)
	if err != nil {
		return e, false
	}
	about, err := meta.Accessor(trimmed)
	if err != nil {
		return e, false
	}
	if e.Type == watch.Deleted {
		l.take(cache.MetaObjectToName(about).String(), 0)
	} else if end != "" {
		about.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: end})
	}
	is, ok := trimmed.(runtime.Object)
	e.Object = is
	return e, ok
}

// List implements cache.Lister.
func (l *larder) List(options metav1.ListOptions) (runtime.Object, error) {
	return l.ListWithContext(context.Background(), options)
}

// Watch implements cache.Watcher.
func (l *larder) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return l.WatchWithContext(context.Background(), options)
}

// weightOf is about how many bytes of memory it takes to hold something.
func weightOf(obj runtime.Object) int64 {
	const self = 512
	switch o := obj.(type) {
	case *arrival:
		r := &o.record
		return int64(self + len(o.Namespace) + len(o.Name) + len(r.uid) + len(r.resourceVersion) + len(r.rendering))
	case *metav1.PartialObjectMetadata:
		return int64(self + o.ObjectMeta.Size())
	case *unstructured.Unstructured: // a map in memory takes some times as much as on the wire
		if raw, err := o.MarshalJSON(); err == nil {
			return int64(self + 4*len(raw))
		}
	case *v1alpha1.Delivery:
		return int64(self + o.ObjectMeta.Size() + weightOfSpec(&o.Spec) + federate.WeightOf(&o.Status))
	}
	return self
}

func weightOfSpec(spec *v1alpha1.DeliverySpec) int {
	w := &spec.Wrapper
	weight := len(w.Kind) + len(w.Namespace) + len(w.Name) + len(w.UID) + len(spec.Seal)
	if t := spec.Target; t != nil {
		weight += len(t.Revision) + len(t.Rendering)
	}
	for i := range spec.Inventory {
		e := &spec.Inventory[i]
		weight += federate.EntryWeight + len(e.Group) + len(e.Kind) + len(e.Resource) + len(e.Name) + len(e.State) + len(e.Rendering) +
			len(e.UID) + len(e.Fields) + len(e.Adopted)
	}
	return weight
}
