// SPDX-License-Identifier: Apache-2.0

package boundedread

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// trimmedWatch is a watch whose events are trimmed. Its goroutine ends after Stop even if no reader takes the last
// event. The goroutine of apimachinery's watch.Filter would never end in that case.
type trimmedWatch struct {
	whole  watch.Interface
	events chan watch.Event
	// stopped is closed when Stop is called.
	stopped chan struct{}
	// ended is closed when the goroutine has ended.
	ended chan struct{}
	stop  sync.Once
}

// newTrimmedWatch makes a watch that calls the function trim with each event of the watch whole, and sends the result.
// It drops an event if the function returns false.
func newTrimmedWatch(whole watch.Interface, trim func(watch.Event) (watch.Event, bool)) *trimmedWatch {
	w := &trimmedWatch{whole: whole, events: make(chan watch.Event), stopped: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		defer close(w.events)
		for e := range whole.ResultChan() {
			trimmed, ok := trim(e)
			if !ok {
				continue
			}
			select {
			case w.events <- trimmed:
			case <-w.stopped:
				return
			}
		}
	}()
	return w
}

// ResultChan implements watch.Interface.
func (w *trimmedWatch) ResultChan() <-chan watch.Event { return w.events }

// Stop implements watch.Interface.
func (w *trimmedWatch) Stop() {
	w.stop.Do(func() {
		close(w.stopped)
		w.whole.Stop()
	})
}
