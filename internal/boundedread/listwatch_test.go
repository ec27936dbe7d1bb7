// SPDX-License-Identifier: Apache-2.0

package boundedread

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// newTestSource makes a Source whose cache keeps only the name and the uid of each object.
func newTestSource(source cache.ListerWatcherWithContext) *Source {
	trim := func(obj any) (any, error) {
		o := obj.(*metav1.PartialObjectMetadata)
		return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: o.Name, UID: o.UID}}, nil
	}
	return NewSource(source, trim, NewBudget(MaxCached))
}

func something(name string, length int) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(strings.Repeat("u", length))}}
}

// brings is a fake member. The test sets the pages of its lists and sends the events of its watch.
type brings struct {
	page   func(n int) *metav1.PartialObjectMetadataList
	events *watch.FakeWatcher
	pages  int
}

func (b *brings) ListWithContext(context.Context, metav1.ListOptions) (runtime.Object, error) {
	b.pages++
	return b.page(b.pages), nil
}

func (b *brings) WatchWithContext(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return b.events, nil
}

func TestAnEndlessListIsNotCached(t *testing.T) {
	for name, page := range map[string]func(n int) *metav1.PartialObjectMetadataList{
		"pages of large objects": func(n int) *metav1.PartialObjectMetadataList {
			return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{Continue: "more"},
				Items: []metav1.PartialObjectMetadata{*something(fmt.Sprint(n), 4<<20)}}
		},
		"empty pages": func(int) *metav1.PartialObjectMetadataList {
			return &metav1.PartialObjectMetadataList{ListMeta: metav1.ListMeta{Continue: "more"}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := &brings{page: page}
			s := newTestSource(b)
			err, next := error(nil), ""
			for ; err == nil && b.pages < 1000; next = "more" {
				_, err = s.ListWithContext(t.Context(), metav1.ListOptions{Continue: next})
			}
			if err == nil || s.budget.Used() > MaxCached || b.pages > MaxPages {
				t.Errorf("%d pages, %d MiB: %v", b.pages, s.budget.Used()>>20, err)
			}
			if s.empty(); s.budget.Used() != 0 {
				t.Errorf("%d bytes still count as held", s.budget.Used())
			}
		})
	}
}

func TestEndlessEventsAreNotCached(t *testing.T) {
	b := &brings{events: watch.NewFake()}
	s := newTestSource(b)
	stream, err := s.WatchWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	next := func() watch.Event { return <-stream.ResultChan() }
	for range 100 { // two objects, so the weight must stay that of two objects at most
		for _, name := range []string{"a", "b"} {
			go b.events.Add(something(name, 1<<20))
			if e := next(); e.Type != watch.Added {
				t.Fatalf("%+v", e)
			}
		}
		go b.events.Delete(something("b", 0))
		if e := next(); e.Type != watch.Deleted || e.Object.(*metav1.PartialObjectMetadata).Name != "b" {
			t.Fatalf("%+v", e)
		}
	}
	if held := s.budget.Used(); held < 1<<20 || held > 2<<20 {
		t.Errorf("%d is held", held)
	}
	for n := range 1000 {
		go b.events.Add(something(fmt.Sprint(n), 1<<20))
		if e := next(); e.Type == watch.Error {
			if err := e.Object.(*metav1.Status); !strings.Contains(err.Message, errTooMuch.Error()) || n < 100 {
				t.Errorf("after %d: %v", n, err)
			}
			return
		}
	}
	t.Errorf("%d MiB are held", s.budget.Used()>>20)
}

func TestTheBookmarkAfterTheInitialEventsIsPassedOn(t *testing.T) {
	b := &brings{events: watch.NewFake()}
	s := newTestSource(b)
	s.trim = func(obj any) (any, error) { // changes the object in place, as the trim function of the collector does
		obj.(*metav1.PartialObjectMetadata).Annotations = nil
		return obj, nil
	}
	stream, err := s.WatchWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bookmark := something("", 0)
	bookmark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	go b.events.Action(watch.Bookmark, bookmark)
	e := <-stream.ResultChan()
	if got := e.Object.(metav1.Object).GetAnnotations()[metav1.InitialEventsAnnotationKey]; got != "true" || len(s.weights) > 0 {
		t.Errorf("%q, %d are held", got, len(s.weights))
	}
}

func TestAnObjectThatCannotBeTrimmedIsNotHeld(t *testing.T) {
	s := newTestSource(&brings{})
	s.trim = func(any) (any, error) { return nil, errors.New("no") }
	if kept, err := s.admit(something("a", 1)); err == nil || kept != nil || len(s.weights) > 0 {
		t.Errorf("%v, %v", kept, err)
	}
}

// A reflector may be stopped while a page or an event is still on its way.
func TestObjectsThatArriveAfterTheEndAreNotCounted(t *testing.T) {
	b := &brings{events: watch.NewFake()}
	s := newTestSource(b)
	stream, err := s.WatchWithContext(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	go b.events.Add(something("late", 1<<20))
	<-stream.ResultChan()
	if held := s.budget.Used(); held != 0 || len(s.weights) > 0 {
		t.Errorf("%d is held", held)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := range 1000 { // a list is being read while the source is closed
			s.take(fmt.Sprint(n), 1)
		}
	}()
	s.Close()
	<-done
	if held := s.budget.Used(); held != 0 {
		t.Errorf("%d is held", held)
	}
}

func TestAStoppedWatchEndsWhileAnEventIsNotRead(t *testing.T) {
	whole := watch.NewFakeWithChanSize(2, false)
	cut := make(chan struct{}, 2)
	stream := newTrimmedWatch(whole, func(e watch.Event) (watch.Event, bool) { cut <- struct{}{}; return e, true })
	whole.Add(something("a", 1))
	<-cut // wait until the watch has an event that no reader takes
	stream.Stop()
	stream.Stop()
	select {
	case <-stream.ended:
	case <-time.After(10 * time.Second):
		t.Error("the goroutine of the stopped watch still waits for a reader of its event")
	}
}

// A member could fill the memory with a text that ObjectWeight does not count. So ObjectWeight must count every text.
func TestEveryTextOfADeliveryIsWeighed(t *testing.T) {
	const length = 100_000 // much more than everything that is not text
	d := &v1alpha1.Delivery{}
	texts := fill(reflect.ValueOf(&d.Spec).Elem(), length) + fill(reflect.ValueOf(&d.Status).Elem(), length)
	if weight := ObjectWeight(d); weight < int64(texts*length) || texts < 20 {
		t.Errorf("%d texts of %d bytes weigh %d", texts, length, weight)
	}
}

// fill sets every string of v to a text of this length, and returns the number of strings.
func fill(v reflect.Value, length int) (n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(strings.Repeat("x", length))
		return 1
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return fill(v.Elem(), length)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		return fill(v.Index(0), length)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				n += fill(v.Field(i), length)
			}
		}
	}
	return n
}
