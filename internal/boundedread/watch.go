// SPDX-License-Identifier: Apache-2.0

package boundedread

import (
	"sync"

	"k8s.io/apimachinery/pkg/watch"
)

// trimmedWatch is a watch whose events are trimmed. Unlike watch.Filter, its goroutine ends when it is stopped, also while
// it has an event that is not read.
type trimmedWatch struct {
	whole  watch.Interface
	events chan watch.Event
	// stopped is closed when it is stopped, ended when its goroutine has ended.
	stopped, ended chan struct{}
	stop           sync.Once
}

// newTrimmedWatch passes on what trim makes of each event, and drops those of which it makes none.
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
