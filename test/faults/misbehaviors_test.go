// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// misbehaviors has, by name, the ways in which a member can misbehave.
var misbehaviors = map[string]misbehavior{
	"never answers": func(_ http.ResponseWriter, r *http.Request, _ http.Handler) { <-r.Context().Done() },
	"answers after half a minute": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		select {
		case <-r.Context().Done():
		case <-time.After(30 * time.Second):
			next.ServeHTTP(w, r)
		}
	},
	"sends only the header of an answer": func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush() //nolint:forcetypeassert // the ResponseWriter of net/http is a Flusher
		<-r.Context().Done()
	},
	"executes every request, and never answers": func(_ http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Query().Get("watch") == "" {
			next.ServeHTTP(httptest.NewRecorder(), r)
		}
		<-r.Context().Done()
	},
	"breaks every connection": func(http.ResponseWriter, *http.Request, http.Handler) { panic(http.ErrAbortHandler) },
	"breaks off every answer in the middle": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Query().Get("watch") != "" {
			panic(http.ErrAbortHandler)
		}
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, r)
		w.Header().Set("Content-Type", answer.Header().Get("Content-Type"))
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes()[:answer.Body.Len()/2]) // an error does not matter: the connection breaks next
		w.(http.Flusher).Flush()                                  //nolint:forcetypeassert // the ResponseWriter of net/http is a Flusher
		panic(http.ErrAbortHandler)
	},
	"answers 429":          status(http.StatusTooManyRequests, "Retry-After", "1"),
	"answers 410":          status(http.StatusGone, "", ""),
	"answers 500":          status(http.StatusInternalServerError, "", ""),
	"answers 503":          status(http.StatusServiceUnavailable, "", ""),
	"answers a login page": text("text/html", "<html><body>Please log in</body></html>"),
	"answers another kind": text("application/json", `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"x"}}]}`),
	"sends empty answers":  text("application/json", ""),
	"sends invalid JSON":   text("application/json", strings.Repeat(`{"items":[`, 10_000)),
	"answers every third request": func() misbehavior {
		var n atomic.Int64
		return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if n.Add(1)%3 != 0 {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		}
	}(),
	"sends every watch event twice, and then the previous event": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.URL.Query().Get("watch") == "" {
			next.ServeHTTP(w, r)
			return
		}
		stutter := &stutterer{ResponseWriter: w}
		next.ServeHTTP(stutter, r)
	},
	"sends false discovery": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		gv, core := strings.CutPrefix(r.URL.Path, "/api/")
		if !core {
			gv = strings.TrimPrefix(r.URL.Path, "/apis/")
		}
		if slashes := strings.Count(gv, "/"); r.Method != http.MethodGet || core && slashes != 0 || !core && slashes != 1 {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":%q,"resources":[`, gv)
		for _, kind := range []string{"ConfigMap", "Secret", "Namespace", "Deployment", "StatefulSet", "PersistentVolumeClaim", "Delivery"} {
			_, _ = fmt.Fprintf(w, `{"name":"evil","kind":%q,"namespaced":false,"verbs":["list"]},{"name":"..","kind":%[1]q,"verbs":["list"]},`, kind)
		}
		_, _ = io.WriteString(w, `{"name":"last","kind":"Last","verbs":[]}]}`)
	},
	"sends lists without an end": func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/deliveries") || r.URL.Query().Get("watch") != "" {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"kind":"DeliveryList","apiVersion":%q,"metadata":{"resourceVersion":"1","continue":"more"},"items":[`,
			v1alpha1.GroupVersion.String())
		for i := range 500 {
			if i > 0 {
				_, _ = io.WriteString(w, ",")
			}
			_, _ = fmt.Fprintf(w, `{"metadata":{"name":"fed.none.n%d","uid":"u%d"},"spec":{"wrapper":{"kind":"Federated","namespace":"none","name":"n%d","uid":"x"}}}`, i, i, i)
		}
		_, _ = io.WriteString(w, "]}")
	},
}

func status(code int, header, value string) misbehavior {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		if header != "" {
			w.Header().Set(header, value)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"message":"a failure \u001b[31m"}`, code)
	}
}

func text(kind, body string) misbehavior {
	return func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.Header().Set("Content-Type", kind)
		_, _ = io.WriteString(w, body)
	}
}

// stutterer writes each watch event twice, and then the previous event. The API server writes one watch event per call of
// Write.
type stutterer struct {
	http.ResponseWriter
	last []byte
}

// Write writes p twice and then the previous event. It implements io.Writer.
func (s *stutterer) Write(p []byte) (int, error) {
	for _, piece := range [][]byte{p, p, s.last} {
		if _, err := s.ResponseWriter.Write(piece); err != nil {
			return 0, err
		}
	}
	if strings.HasSuffix(string(p), "\n") {
		s.last = append([]byte(nil), p...)
	}
	return len(p), nil
}

// Flush implements http.Flusher.
func (s *stutterer) Flush() { s.ResponseWriter.(http.Flusher).Flush() } //nolint:forcetypeassert // the ResponseWriter of net/http is a Flusher
