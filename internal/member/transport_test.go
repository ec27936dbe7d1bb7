// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
)

// endless is a server whose answer never ends: one JSON string, or one event of a watch. It counts the bytes that it
// sent.
type endless struct {
	*httptest.Server
	sent chan int
}

func newEndless(t *testing.T) *endless {
	t.Helper()
	e := &endless{sent: make(chan int, 10)}
	e.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		n, _ := io.WriteString(w, `{"type": "ADDED", "object": {"kind": "Delivery", "apiVersion": "`+v1alpha1.GroupVersion.String()+`", "metadata": {"name": "`)
		piece, total := strings.Repeat("x", 1<<20), n
		for {
			n, err := io.WriteString(w, piece)
			if total += n; err != nil {
				break
			}
		}
		e.sent <- total
	}))
	t.Cleanup(func() { e.CloseClientConnections(); e.Close() })
	return e
}

func (e *endless) connect(t *testing.T) *Conn {
	t.Helper()
	conn := connected(t, (&apiServer{Server: e.Server}).config("t"))
	return conn
}

func TestReadingStopsAtTheLimitOfAnAnswer(t *testing.T) {
	e := newEndless(t)
	_, err := Do(t.Context(), e.connect(t).REST().Get().AbsPath("/version"), false)
	var tooLarge *boundedread.TooLargeError
	if !errors.As(err, &tooLarge) || !strings.Contains(err.Error(), "GET /version: it is larger than 8Mi") {
		t.Error(err)
	}
	// The bound here is 16 MiB higher, because the network's buffers hold bytes that the client has not read.
	if sent := <-e.sent; sent > boundedread.MaxAnswer+(16<<20) {
		t.Errorf("%d MiB were taken", sent>>20)
	}
}

func TestReadingStopsAtTheLimitOfAnEvent(t *testing.T) {
	e := newEndless(t)
	stream, err := e.connect(t).REST().Get().AbsPath("/apis", v1alpha1.Group, "v1alpha1", "deliveries").
		VersionedParams(&metav1.ListOptions{Watch: true}, metav1.ParameterCodec).Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if event.Object.GetObjectKind().GroupVersionKind().Kind == "Delivery" {
			t.Errorf("it came through: %s", event.Type)
		}
	}
	if sent := <-e.sent; sent > boundedread.MaxEvent+(16<<20) {
		t.Errorf("%d MiB were taken", sent>>20)
	}
}

// An event may have any number of lines, so the limit must count the bytes of the event and not of a line.
func TestReadingStopsAtTheLimitOfAnEventOfManyLines(t *testing.T) {
	for name, line := range map[string]string{"of a list": "0,\n", "empty ones": "\n"} {
		t.Run(name, func(t *testing.T) {
			lines := strings.Repeat(line, 1<<16)
			sent := 0
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, err := io.WriteString(w, `{"type":"ADDED","object":{"a":[`)
				for ; err == nil && sent < 1<<30; sent += len(lines) {
					_, err = io.WriteString(w, lines)
				}
			}))
			stream, err := (&endless{Server: server}).connect(t).REST().Get().AbsPath("/x").Param("watch", "true").Stream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			taken, err := io.Copy(io.Discard, stream)
			if tooLarge := (*boundedread.TooLargeError)(nil); !errors.As(err, &tooLarge) || taken > boundedread.MaxEvent {
				t.Errorf("%d MiB were taken, and then: %v", taken>>20, err)
			}
			_ = stream.Close() // an error does not matter, because the stream is broken
			server.Close()
		})
	}
}

// A watch may last forever, so only each single event has a limit, not their sum.
func TestTheSumOfAllEventsOfAWatchIsNotLimited(t *testing.T) {
	const events = 6
	large := strings.Repeat("x", boundedread.MaxEvent/2)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for range events {
			_, _ = io.WriteString(w, `{"type":"ADDED","object":{"kind":"Membership","apiVersion":"`+v1alpha1.GroupVersion.String()+
				`","metadata":{"name":"self","annotations":{"a":"`+large+"\"}}}}\n")
		}
	}))
	defer server.Close()
	stream, err := (&endless{Server: server}).connect(t).REST().Get().AbsPath("/x").
		VersionedParams(&metav1.ListOptions{Watch: true}, metav1.ParameterCodec).Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Stop()
	n := 0
	for event := range stream.ResultChan() {
		if m, ok := event.Object.(*v1alpha1.Membership); ok && len(m.Annotations["a"]) == len(large) {
			n++
		}
	}
	if n != events {
		t.Errorf("%d events", n)
	}
}

// fence is a WriteFence. It allows all writes if the field no is nil, and otherwise refuses them with the error in no.
type fence struct {
	no   error
	left func() time.Duration
}

func (f *fence) Await(context.Context) error { return f.no }
func (f *fence) Left() time.Duration         { return f.left() }

func TestAWriteThatIsUnderWayIsCanceledWhenTheFenceFalls(t *testing.T) {
	done := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		_, _ = io.Copy(io.Discard, req.Body) // an HTTP/1 server notices the end of a connection only after it has read the body
		<-req.Context().Done()
		close(done)
	}))
	defer server.Close()
	conn, asked := (&endless{Server: server}).connect(t), atomic.Int32{}
	conn.guard.fence = &fence{left: func() time.Duration { // the lease is renewed for the first three calls, and then never again
		if asked.Add(1) > 3 {
			return 0
		}
		return 10 * time.Millisecond
	}}
	err := conn.REST().Patch("application/apply-patch+yaml").AbsPath("/x").Body([]byte("{}")).Do(t.Context()).Error()
	if heldBack := (*HeldBackError)(nil); !errors.As(err, &heldBack) || !strings.Contains(err.Error(), "PATCH /x: no answer came before") {
		t.Error(err)
	}
	<-done // the API server notices that the request was canceled
	if n := asked.Load(); n != 4 {
		t.Errorf("it asked %d times how long it may last", n)
	}
}

func TestTheFenceDoesNotCancelReads(t *testing.T) {
	server := newAPIServer(t)
	conn := connected(t, server.config("t"))
	conn.guard.fence = &fence{no: errors.New("no"), left: func() time.Duration { return 0 }}
	if _, err := conn.prober.serverVersion(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTheFenceStopsEveryWrite(t *testing.T) {
	server := newAPIServer(t)
	conn, no := connected(t, server.config("t")), errors.New("not the leader")
	conn.guard.fence = &fence{no: no}
	for name, write := range map[string]func() error{
		"an apply": func() error {
			return conn.REST().Patch("application/apply-patch+yaml").AbsPath("/version").Body([]byte("{}")).Do(t.Context()).Error()
		},
		"a deletion": func() error { return conn.REST().Delete().AbsPath("/version").Do(t.Context()).Error() },
		"of a client": func() error {
			return conn.GetClient().Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "a"}})
		},
	} {
		heldBack := (*HeldBackError)(nil)
		if err := write(); !errors.Is(err, no) || !errors.As(err, &heldBack) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := server.times("/version"); n != 0 {
		t.Errorf("%d requests got through", n)
	}
	if _, err := conn.prober.serverVersion(t.Context()); err != nil {
		t.Errorf("reading: %v", err)
	}
}

// A member accepts a watch and sends no headers. The manager must give up after headWithin.
func TestARequestEndsWhenNoAnswerBegins(t *testing.T) {
	begun, gone := make(chan struct{}), make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		close(begun)
		<-req.Context().Done()
		close(gone)
	}))
	defer server.Close()
	conn := (&endless{Server: server}).connect(t)
	conn.guard.headWithin = 50 * time.Millisecond
	_, err := conn.REST().Get().AbsPath("/x").VersionedParams(&metav1.ListOptions{Watch: true}, metav1.ParameterCodec).Watch(t.Context())
	if err == nil || !strings.Contains(err.Error(), "GET /x: no answer has begun within 50ms") {
		t.Error(err)
	}
	select {
	case <-begun:
		<-gone
	default: // on a busy machine, the manager may give up before the request arrives
	}
}

func TestAProbeRefusesAnAnswerOfAnotherKind(t *testing.T) {
	server := newAPIServer(t)
	server.says(membershipPath, corev1.PodList{TypeMeta: metav1.TypeMeta{Kind: "PodList", APIVersion: "v1"}})
	is := connected(t, server.config("t")).prober.probe(t.Context(), thisHost, ProbeResult{}, now)
	if is.Usable() || is.Reason != v1alpha1.ReasonUnreachable || !strings.Contains(is.Message, "a PodList and not a Membership") {
		t.Errorf("%+v", is)
	}
}

func TestAnAnswerOf429LowersTheLimitOfTheMember(t *testing.T) {
	server := newAPIServer(t)
	server.says("/version", apierrors.NewTooManyRequestsError("not now"))
	conn := connected(t, server.config("t"))
	before := conn.Limit().Places()
	if _, err := conn.prober.serverVersion(t.Context()); !apierrors.IsTooManyRequests(err) {
		t.Fatal(err)
	}
	if got := conn.Limit().Places(); got != before/2 {
		t.Errorf("%d at once, want half of %d", got, before)
	}
}
