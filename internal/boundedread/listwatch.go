// SPDX-License-Identifier: Apache-2.0

package boundedread

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Source lists and watches objects for one reflector. It trims each object that arrives to the part that the cache
// keeps, and takes the weight of that part out of the budget. If the budget does not suffice, the list or the watch
// ends with an error.
type Source struct {
	source cache.ListerWatcherWithContext
	trim   cache.TransformFunc
	budget *Budget
	pages  int

	// mu protects the fields below, because a page or an event can still arrive after Close.
	mu sync.Mutex
	// weights has the weight of each object in the cache, by namespace and name.
	weights map[string]int64
	// closed is true after Close. The source then refuses every object that still arrives.
	closed bool
}

var _ cache.ListerWatcherWithContext = &Source{}

// NewSource makes a Source of the objects of another source. trim reduces each object to the part that the cache keeps.
// All caches of one member share the budget.
func NewSource(source cache.ListerWatcherWithContext, trim cache.TransformFunc, budget *Budget) *Source {
	return &Source{source: source, trim: trim, budget: budget, weights: map[string]int64{}}
}

// Close gives the weight of the whole cache back to the budget. After that the source takes nothing out of the budget.
func (s *Source) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.empty()
}

// empty gives the weight of the whole cache back to the budget, for example before a new list fills the cache.
func (s *Source) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, weight := range s.weights {
		s.budget.add(-weight)
	}
	clear(s.weights)
}

// take sets the weight of one object in the cache; 0 means that the object is gone. It returns false, and takes
// nothing, if the budget does not suffice or the source is closed.
func (s *Source) take(key string, weight int64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !s.budget.take(weight-s.weights[key]) {
		return false
	}
	if s.weights[key] = weight; weight == 0 {
		delete(s.weights, key)
	}
	return true
}

// admit trims an object, and takes the weight of the result out of the budget.
func (s *Source) admit(obj runtime.Object) (runtime.Object, error) {
	trimmed, err := s.trim(obj)
	if err != nil {
		return nil, err
	}
	kept, ok := trimmed.(runtime.Object)
	if !ok {
		return nil, fmt.Errorf("trimming an object: the result has type %T, which is not a runtime.Object", trimmed)
	}
	about, err := meta.Accessor(kept)
	if err != nil {
		return nil, err
	}
	if !s.take(cache.MetaObjectToName(about).String(), ObjectWeight(kept)) {
		return nil, errTooMuch
	}
	return kept, nil
}

// ListWithContext implements cache.ListerWithContext.
func (s *Source) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.Continue == "" {
		s.empty()
		s.pages = 0
	}
	if s.pages++; s.pages > MaxPages {
		return nil, fmt.Errorf("the member's list has more than %d pages, which is more than Fairlead reads", MaxPages)
	}
	whole, err := s.source.ListWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	about, err := meta.ListAccessor(whole)
	if err != nil {
		return nil, err
	}
	page := &metainternal.List{ListMeta: metav1.ListMeta{ResourceVersion: about.GetResourceVersion(), Continue: about.GetContinue()}}
	err = meta.EachListItem(whole, func(obj runtime.Object) error {
		kept, err := s.admit(obj)
		page.Items = append(page.Items, kept)
		return err
	})
	return page, err
}

// WatchWithContext implements cache.WatcherWithContext.
func (s *Source) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		s.empty() // this watch sends all objects again
	}
	whole, err := s.source.WatchWithContext(ctx, options)
	if err != nil {
		return nil, err
	}
	return newTrimmedWatch(whole, s.admitEvent), nil
}

// admitEvent trims the object of a watch event. It takes the weight of an added or changed object out of the budget,
// and gives the weight of a deleted object back. It returns false if the event is to be dropped.
func (s *Source) admitEvent(e watch.Event) (watch.Event, bool) {
	switch e.Type {
	case watch.Error:
		return e, true
	case watch.Added, watch.Modified:
		kept, err := s.admit(e.Object)
		if err != nil {
			return watch.Event{Type: watch.Error, Object: &metav1.Status{Status: metav1.StatusFailure, Message: err.Error()}}, true
		}
		e.Object = kept
		return e, true
	}
	// The cache keeps no object of a deletion or a bookmark, so such an object takes nothing out of the budget. It is
	// trimmed all the same, because the reflector expects objects of the type that trim returns.
	end := ""
	if about, err := meta.Accessor(e.Object); err == nil {
		end = about.GetAnnotations()[metav1.InitialEventsAnnotationKey]
	}
	trimmed, err := s.trim(e.Object)
	if err != nil {
		return e, false
	}
	about, err := meta.Accessor(trimmed)
	if err != nil {
		return e, false
	}
	if e.Type == watch.Deleted {
		s.take(cache.MetaObjectToName(about).String(), 0)
	} else if end != "" {
		about.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: end})
	}
	kept, ok := trimmed.(runtime.Object)
	e.Object = kept
	return e, ok
}

// List implements cache.Lister.
func (s *Source) List(options metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), options)
}

// Watch implements cache.Watcher.
func (s *Source) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), options)
}
