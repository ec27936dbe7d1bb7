// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// oneMember is the largest amount of memory, in bytes, that the manager may use for one member, whatever the member sends.
// See docs/design.md, section 4.
const oneMember = 512 << 20

// hugeAnswer is a response of a member that would need more memory than the host has.
type hugeAnswer struct {
	// answers selects the requests that get this response. All other requests reach the member.
	answers func(r *http.Request) bool
	// piece returns the n-th piece of the response, or "" at its end. Most of these responses have no end.
	piece func(n int) string
}

var hugeAnswers = map[string]hugeAnswer{
	"a gigabyte": {answers: aRead, piece: func(int) string { return `{"kind":"` + strings.Repeat("x", 1<<20) }},
	"a list of empty things": {answers: aList, piece: func(n int) string { // 20 MB
		switch {
		case n == 0:
			return listOfDeliveries + "{}"
		case n < 25:
			return strings.Repeat(",{}", 1<<18)
		case n == 25:
			return "]}"
		}
		return ""
	}},
	"an event without an end": {answers: aWatch, piece: opening(`{"type":"ADDED","object":{"metadata":{"name":"`,
		strings.Repeat("x", 1<<20))},
	"an event of empty things": {answers: aWatch, piece: opening(`{"type":"ADDED","object":`+delivery(0, 0)[:len(delivery(0, 0))-2]+`,"objects":[{}`,
		strings.Repeat(",{}", 1<<18))},
	"an event of many lines": {answers: aWatch, piece: opening(`{"type":"ADDED","object":{"kind":"Delivery","a":[`, strings.Repeat("0,\n", 1<<18))},
	"deliveries with a long seal": {answers: aWatch, piece: func(n int) string {
		return `{"type":"ADDED","object":` + strings.Replace(delivery(n+1, 0), `"spec":{`, `"spec":{"seal":"`+strings.Repeat("x", 3<<20)+`",`, 1) + "}\n"
	}},
	"events without an end": {answers: aWatch, piece: func(n int) string { return `{"type":"ADDED","object":` + delivery(n, 256) + "}\n" }},
	"pages without an end": {answers: aList, piece: func(n int) string {
		switch {
		case n == 0:
			return listOfDeliveries + delivery(0, 64)
		case n < 400:
			return "," + delivery(n, 64)
		case n == 400:
			return "]}"
		}
		return ""
	}},
}

const listOfDeliveries = `{"kind":"DeliveryList","apiVersion":"` + v1alpha1.Group + `/v1alpha1","metadata":{"resourceVersion":"1","continue":"more"},"items":[`

// dailyHugeAnswers are the responses that a run without CRASH=all tries.
var dailyHugeAnswers = []string{"a list of empty things", "events without an end"}

func aWatch(r *http.Request) bool { return r.URL.Query().Has("watch") }

func aList(r *http.Request) bool { return aRead(r) && strings.HasSuffix(r.URL.Path, "/deliveries") }

func aRead(r *http.Request) bool {
	return r.Method == http.MethodGet && !aWatch(r) && !strings.Contains(r.URL.Path, "/memberships/")
}

func opening(first, then string) func(int) string {
	return func(n int) string {
		if n == 0 {
			return first
		}
		return then
	}
}

var named atomic.Int64

// delivery returns a Delivery as JSON, with the given number of objects in its status. Each object has a message of 1 KiB. A Delivery with
// objects also has a request for logs, evidence with 64 KiB of logs, and an answer with 64 KiB of logs.
// If n is 0, the name of the Delivery is always the same; otherwise each Delivery gets a new name.
func delivery(n, objects int) string {
	var b strings.Builder
	name := fmt.Sprint("x", n)
	if n > 0 {
		name = fmt.Sprint("x", named.Add(1))
	}
	fmt.Fprintf(&b, `{"kind":"Delivery","apiVersion":"%s","metadata":{"name":"fed.none.%[2]s","namespace":"%[3]s","uid":"%[2]s","resourceVersion":"%[4]d"},`+
		`"spec":{"wrapper":{"kind":"Federated","namespace":"none","name":"%[2]s","uid":"%[2]s"},"target":{"rendering":"x"}%[5]s},"status":{"version":"x"`,
		v1alpha1.GroupVersion, name, v1alpha1.SystemNamespace, n+1, map[bool]string{true: `,"requests":[` + request + `]`}[objects > 0])
	for i := range objects {
		b.WriteString(map[bool]string{true: `,"objects":[`, false: ","}[i == 0])
		fmt.Fprintf(&b, `{"kind":"X","name":"x%d","health":"Degraded","message":"%s"}`, i, words)
	}
	if objects > 0 {
		fmt.Fprintf(&b, `],"evidence":[{"kind":"Pod","name":"x",%[2]s}],"answers":[{"request":%[1]s,%[2]s}]`, request, containers)
	}
	b.WriteString("}}")
	return b.String()
}

var words = strings.Repeat("much ado ", 113) // 1 KiB

const request = `{"kind":"Pod","name":"x","type":"Logs","expires":"2100-01-01T00:00:00Z"}`

var containers = `"containers":[{"pod":"x","name":"x","state":"Running","log":"` + strings.Repeat(words, 64) + `"}]`

// Member east sends responses that are larger than the host's memory. They must not use up the manager's memory, and must not
// delay the pushes to west.
func TestAMemberCannotFillTheHostsMemory(t *testing.T) {
	f := newFleet(t, v1alpha1.CollectorHost)
	names := dailyHugeAnswers
	if all {
		names = slices.Sorted(maps.Keys(hugeAnswers))
	}
	l := born(t, manager, f.manager, end{})
	defer l.kill()
	well := f.newAuthor(t)
	well.write(first)
	well.rest([]*desiredState{first})
	defer debug.SetGCPercent(debug.SetGCPercent(25)) // collect garbage early, because the measured heap includes it

	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			east, g := f.proxies["east"], hugeAnswers[name]
			heap := watchHeap()
			var offered, refused atomic.Int64
			var bad misbehavior = func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				switch {
				case g.answers(r):
				case aWatch(r): // end the watch, so that the client lists again and gets the huge response
					status(http.StatusGone, "", "")(w, r, next)
					return
				default:
					next.ServeHTTP(w, r)
					return
				}
				if query := r.URL.Query(); query.Has("limit") && query.Get("continue") == "" {
					refused.Add(1) // a request for the first page after an earlier one: the manager gave up the earlier list
				}
				w.Header().Set("Content-Type", "application/json")
				for n := range 1 << 20 {
					piece := g.piece(n)
					if piece == "" {
						return
					}
					sent, err := io.WriteString(w, piece)
					if offered.Add(int64(sent)); err != nil {
						refused.Add(1)
						panic(http.ErrAbortHandler)
					}
				}
			}
			east.misbehavior.Store(&bad)
			defer east.misbehavior.Store(nil)
			east.server.CloseClientConnections()
			a := f.newAuthor(t)
			a.write(first)
			a.eventually(t, "member west is served", func(ctx context.Context) string { return a.served(ctx, "west") })
			// A manager without a bound would exceed oneMember here, and the test would fail.
			a.eventually(t, "the manager ends such responses again and again", func(context.Context) string {
				if refused.Load() < 5 && heap.most() < oneMember {
					return fmt.Sprintf("the manager read %d MiB, and ended %d responses", offered.Load()>>20, refused.Load())
				}
				return ""
			})
			heap.close()
			most := heap.most()
			t.Logf("the heap grew by at most %d MiB; the manager read %d MiB, and ended %d responses", most>>20, offered.Load()>>20, refused.Load())
			if most > oneMember {
				t.Errorf("the heap has grown by %d MiB, which is more than one member may take", most>>20)
			}
			east.misbehavior.Store(nil)
			east.server.CloseClientConnections()
			a.rest([]*desiredState{first})
			a.write(nil)
			a.rest([]*desiredState{first, nil})
		})
	}
}

// heapWatch measures every 20 ms by how much the heap has grown since its start, until it is closed.
type heapWatch struct {
	before, peak atomic.Int64
	done         chan struct{}
	looking      sync.WaitGroup
}

func watchHeap() *heapWatch {
	h := &heapWatch{done: make(chan struct{})}
	runtime.GC()
	h.before.Store(heapNow())
	h.looking.Go(func() {
		for {
			select {
			case <-h.done:
				return
			case <-time.After(20 * time.Millisecond):
				h.peak.Store(max(h.peak.Load(), heapNow()-h.before.Load()))
			}
		}
	})
	return h
}

// most returns the largest measured growth of the heap, in bytes.
func (h *heapWatch) most() int64 { return h.peak.Load() }

func (h *heapWatch) close() {
	close(h.done)
	h.looking.Wait()
}

func heapNow() int64 {
	var is runtime.MemStats
	runtime.ReadMemStats(&is)
	return int64(is.HeapAlloc) //nolint:gosec // no machine has that much
}
