// SPDX-License-Identifier: Apache-2.0

package boundedwatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
)

// fakeMember answers every list with one ConfigMap, or with the error fails if that is set. It keeps watches open. asked has the time of
// each list, as the time since began.
type fakeMember struct {
	mu    sync.Mutex
	began time.Time
	fails error
	asked []time.Duration
}

func (m *fakeMember) set(fails error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fails = fails
}

func (m *fakeMember) take() []time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	asked := m.asked
	m.asked = nil
	return asked
}

// watch returns a Watch on this member. Each call of a callback adds an entry to reports.
func (m *fakeMember) watch(reports *[]string) *Watch {
	var mu sync.Mutex
	report := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		*reports = append(*reports, what)
	}
	return &Watch{
		Name: "configmaps",
		Open: func(context.Context) (cache.ListerWatcher, runtime.Object, error) {
			return &cache.ListWatch{ListWithContextFunc: m.list, WatchFuncWithContext: m.open}, &metav1.PartialObjectMetadata{}, nil
		},
		Trim:    func(obj any) (any, error) { return obj, nil },
		Put:     func(obj any) { report("put " + obj.(metav1.Object).GetName()) },
		Drop:    func(obj any) { report("drop " + obj.(metav1.Object).GetName()) },
		Replace: func([]any, string) { report("replace") },
		Lost:    func(err error) { report("lost: " + string(apierrors.ReasonForError(err))) },
		Kick:    make(chan struct{}, 1),
	}
}

func (m *fakeMember) list(context.Context, metav1.ListOptions) (runtime.Object, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, time.Since(m.began).Truncate(time.Second))
	if m.fails != nil {
		return nil, m.fails
	}
	return &metav1.PartialObjectMetadataList{
		ListMeta: metav1.ListMeta{ResourceVersion: "1"},
		Items:    []metav1.PartialObjectMetadata{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}},
	}, nil
}

func (m *fakeMember) open(_ context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if o.SendInitialEvents != nil { // this member does not support streaming lists, so the reflector sends a list request
		return nil, apierrors.NewInvalid(schema.GroupKind{}, "sendInitialEvents", nil)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails != nil {
		return nil, m.fails
	}
	return watch.NewFake(), nil
}

// run runs a watch in a Set until the test ends. The returned function tells the Set that the member answers again.
func run(t *testing.T, w *Watch) (readmit func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done, readmitted := make(chan struct{}), make(chan struct{}, 1)
	go func() {
		defer close(done)
		wanted := func() map[string]func() *Watch {
			return map[string]func() *Watch{"w": func() *Watch { return w }}
		}
		NewSet(clock.RealClock{}).Run(ctx, wanted, nil, readmitted)
	}()
	t.Cleanup(func() { cancel(); <-done })
	return func() { Signal(readmitted) }
}

// elapse advances the fake clock of the test, and waits until the goroutines have done all that is due.
func elapse(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

var errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no role"))

func TestARefusalCountsOnceItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMember{began: time.Now(), fails: errForbidden}
		var reports []string
		run(t, m.watch(&reports))
		elapse(ForbiddenDoubted - time.Second/2)
		if asked := m.take(); len(asked) != 10 || len(reports) > 0 {
			t.Errorf("while the refusal is doubted the member was asked at %v, and reported was %q", asked, reports)
		}
		elapse(time.Second)
		if diff := cmp.Diff([]string{"lost: Forbidden"}, reports); diff != "" {
			t.Error(diff)
		}
		m.take()
		elapse(time.Minute)
		if asked := m.take(); len(asked) < 3 || len(asked) > 8 {
			t.Errorf("in the minute after that the member was asked at %v", asked)
		}
	})
}

func TestARefusalOfAnEssentialWatchIsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMember{began: time.Now(), fails: errForbidden}
		var reports []string
		w := m.watch(&reports)
		w.Essential = true
		run(t, w)
		elapse(10 * time.Minute)
		m.take()
		elapse(10 * time.Minute)
		if asked := m.take(); len(asked) < 10 { // a pause is 45 seconds at most: 30 seconds and half of that as jitter
			t.Errorf("in ten minutes the member was asked at %v", asked)
		}
		m.set(nil)
		elapse(time.Minute)
		if !slices.Contains(reports, "replace") {
			t.Errorf("after the member answers again, reported is %q", reports)
		}
	})
}

func TestAnAwaitedWatchDoesNotPollForAKindThatIsNotServed(t *testing.T) {
	for name, tt := range map[string]struct {
		awaited     bool
		least, most int
	}{
		"the owner notices when the kind appears":         {awaited: true, least: 1, most: 1},
		"the owner does not notice when the kind appears": {least: 20, most: 1000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &fakeMember{began: time.Now(), fails: ErrNotServed}
				var reports []string
				w := m.watch(&reports)
				w.Awaited = tt.awaited
				run(t, w)
				elapse(20 * time.Minute)
				if asked := m.take(); len(asked) < tt.least || len(asked) > tt.most {
					t.Errorf("in 20 minutes the member was asked at %v", asked)
				}
				m.set(nil)
				Signal(w.Kick)
				synctest.Wait()
				if got := reports[len(reports)-1]; got != "replace" {
					t.Errorf("after a kick, the last report is %q", got)
				}
			})
		})
	}
}

func TestAllWatchesTryAgainAtOnceWhenTheMemberAnswersAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMember{began: time.Now(), fails: errForbidden}
		var reports []string
		readmit := run(t, m.watch(&reports))
		elapse(time.Hour) // now the pauses are five minutes
		m.take()
		m.set(nil)
		readmit()
		synctest.Wait()
		if asked := m.take(); len(asked) != 1 {
			t.Errorf("the member was asked at %v", asked)
		}
	})
}

func TestASetRunsOnlyTheWantedWatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &fakeMember{began: time.Now()}
		var mu sync.Mutex
		names, open := []string{"a", "b"}, map[string]bool{}
		wanted := func() map[string]func() *Watch {
			mu.Lock()
			defer mu.Unlock()
			want := map[string]func() *Watch{}
			for _, name := range names {
				want[name] = func() *Watch {
					w := m.watch(&[]string{})
					source := w.Open
					w.Open = func(ctx context.Context) (cache.ListerWatcher, runtime.Object, error) {
						mu.Lock()
						defer mu.Unlock()
						open[name] = true
						context.AfterFunc(ctx, func() {
							mu.Lock()
							defer mu.Unlock()
							delete(open, name)
						})
						return source(ctx)
					}
					return w
				}
			}
			return want
		}
		ctx, cancel := context.WithCancel(t.Context())
		changed, done := make(chan struct{}, 1), make(chan struct{})
		go func() {
			defer close(done)
			NewSet(clock.RealClock{}).Run(ctx, wanted, changed, nil)
		}()
		check := func(want map[string]bool) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(want, open); diff != "" {
				t.Error(diff)
			}
		}
		check(map[string]bool{"a": true, "b": true})
		mu.Lock()
		names = []string{"b", "c"}
		mu.Unlock()
		Signal(changed)
		check(map[string]bool{"b": true, "c": true})
		cancel()
		<-done
		check(map[string]bool{})
	})
}

func TestThePausesGrowWhileTheMemberRefuses(t *testing.T) {
	pauses, asked, last := refusals(), 0, time.Duration(0)
	for total := time.Duration(0); total < time.Hour; asked++ {
		last = pauses.Step()
		if limit := 5 * time.Minute * 12 / 10; last > limit {
			t.Fatalf("pause %d is %s: more than %s", asked, last, limit)
		}
		total += last
	}
	if asked > 25 {
		t.Errorf("asked %d times in an hour", asked)
	}
	if last < 4*time.Minute {
		t.Errorf("after an hour of refusals still asked after %s", last)
	}
}
