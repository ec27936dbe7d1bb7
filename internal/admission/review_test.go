// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// If a wrapper is nested too deeply, the message has to tell the author so. A message about a failed webhook would not
// help.
func TestAWrapperOfAnyDepthGetsAnAnswer(t *testing.T) {
	server := webhook.NewServer(webhook.Options{})
	Register(server, nobody.members, history(t), false)
	const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"kind":{"group":"federation.fairlead.dev",` +
		`"version":"v1alpha1","kind":"Federated"},"uid":"u-1","operation":"CREATE","namespace":"shop","object":{"metadata":{"name":"web","uid":"u-2"},` +
		`"spec":{"objects":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":%s}],"placement":{"clusters":{"names":["east"]}}}}}}`
	for name, test := range map[string]struct {
		depth int
		words string // words of the refusal; "" means accepted
	}{
		"as deep as one may be":       {98, ""},
		"a little deeper":             {100, "spec.objects[0]: Invalid value: it is nested 101 levels deep, and 100 is the limit"},
		"as deep as can be read":      {8990, "spec.objects[0]: Invalid value: it is nested 8991 levels deep, and 100 is the limit"},
		"deeper than Go's JSON reads": {10_000, "nested more than 9000 deep; an object, the value of a patch and a merge may be nested at most 100 deep"},
		"deeper than anything":        {1_000_000, "nested more than 9000 deep"},
	} {
		t.Run(name, func(t *testing.T) {
			deep := strings.Repeat("[", test.depth) + strings.Repeat("]", test.depth)
			answer := httptest.NewRecorder()
			req := httptest.NewRequest(http.MethodPost, PathValidate, strings.NewReader(fmt.Sprintf(review, deep)))
			req.Header.Set("Content-Type", "application/json")
			server.WebhookMux().ServeHTTP(answer, req)
			var got admissionv1.AdmissionReview
			if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || got.Response == nil {
				t.Fatalf("%d: %s (%v)", answer.Code, answer.Body, err)
			}
			if got.Response.UID != "u-1" || got.Response.Allowed != (test.words == "") {
				t.Errorf("%+v", got.Response)
			}
			if test.words != "" && !strings.Contains(got.Response.Result.Message, test.words) {
				t.Errorf("it says %s", got.Response.Result.Message)
			}
		})
	}
}

// Any pod of the host can send any number of reviews, so the webhook has to bound how many it answers at the same time.
func TestOnlyAFewReviewsAreAnsweredAtATime(t *testing.T) {
	const sent = 3 * maxReviews
	var at, most atomic.Int32
	entered, release := make(chan struct{}, sent), make(chan struct{})
	server := httptest.NewServer(answering(newLimit(), func(context.Context, *question) *admissionv1.AdmissionResponse {
		for now := at.Add(1); ; {
			if before := most.Load(); before >= now || most.CompareAndSwap(before, now) {
				break
			}
		}
		entered <- struct{}{}
		<-release
		at.Add(-1)
		return allowed()
	}))
	defer server.Close()
	answers := make(chan int, sent)
	for range sent {
		go func() {
			answer, err := http.Post(server.URL, "application/json", strings.NewReader(`{"request":{"uid":"u"}}`))
			if err != nil {
				answers <- 0
				return
			}
			answers <- answer.StatusCode
			_ = answer.Body.Close()
		}()
	}
	for range maxReviews {
		<-entered
	}
	select {
	case <-entered:
		t.Errorf("more than %d reviews are answered at the same time", maxReviews)
	case <-time.After(200 * time.Millisecond):
	}
	close(release)
	for range sent {
		if code := <-answers; code != http.StatusOK {
			t.Errorf("a review that waited got %d", code)
		}
	}
	if got := most.Load(); got > maxReviews {
		t.Errorf("%d at the same time", got)
	}
}

// Without a deadline, a client that sends nothing would occupy a slot forever.
func TestAReviewThatDoesNotArriveHoldsNoSlot(t *testing.T) {
	reviews := newLimit()
	reviews.readTime = 100 * time.Millisecond
	server := httptest.NewServer(answering(reviews, func(context.Context, *question) *admissionv1.AdmissionResponse { return allowed() }))
	t.Cleanup(server.Close) // runs after the cleanups below, which close the slow connections, because Close waits for all connections
	for range maxReviews {
		slow, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = slow.Close() })
		if _, err := io.WriteString(slow, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
	}
	// Wait until the slow connections have taken all slots. On a slow machine the first connections may lose their
	// slots before the last connections take theirs. The wait then ends after a second.
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.After(time.Second); len(reviews.slots) < maxReviews; {
		select {
		case <-tick.C:
			continue
		case <-end:
		}
		break
	}
	client := http.Client{Timeout: 10 * time.Second}
	answer, err := client.Post(server.URL, "application/json", strings.NewReader(`{"request":{"uid":"u"}}`))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("got %d", answer.StatusCode)
	}
}

// unreadAnswer is a connection whose client does not read. Each write waits until the test ends.
type unreadAnswer struct {
	http.ResponseWriter
	writing chan<- struct{}
	ended   <-chan struct{}
}

func (u *unreadAnswer) Write(p []byte) (int, error) {
	u.writing <- struct{}{}
	<-u.ended
	return len(p), nil
}

func TestAnAnswerThatIsNotReadHoldsNoSlot(t *testing.T) {
	reviews := newLimit()
	handler := answering(reviews, func(context.Context, *question) *admissionv1.AdmissionResponse { return allowed() })
	writing, ended := make(chan struct{}), make(chan struct{})
	defer close(ended)
	for range maxReviews {
		go handler.ServeHTTP(&unreadAnswer{httptest.NewRecorder(), writing, ended},
			httptest.NewRequest(http.MethodPost, "/", strings.NewReader(`{"request":{"uid":"u"}}`)))
	}
	for range maxReviews {
		<-writing
	}
	if held := len(reviews.slots); held != 0 {
		t.Errorf("%d slots are held by answers that nobody reads", held)
	}
}

func TestAReviewWithALongIdentityIsRefused(t *testing.T) {
	handler := answering(newLimit(), func(context.Context, *question) *admissionv1.AdmissionResponse { return allowed() })
	for _, body := range []string{
		`{"request":{"uid":"` + strings.Repeat("u", maxUID+1) + `"}}`,
		`{"request":{"uid":"` + strings.Repeat("u", maxUID+1) + `","object":` + strings.Repeat("[", maxReviewDepth+1) + strings.Repeat("]", maxReviewDepth+1) + `}}`,
	} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		if answer.Code != http.StatusBadRequest || answer.Body.Len() > 200 {
			t.Errorf("got %d: %.200s", answer.Code, answer.Body)
		}
	}
}

func TestWhatIsNoReviewHasNoUID(t *testing.T) {
	for _, body := range []string{"", "[", "[]", "{", `{"request":`, `{"request":[]}`, `{"request":{"uid":1}}`, `{"response":{"uid":"u"}}`, `{"a":[}`, `{"a":{"request":{"uid":"u"}}}`} {
		if uid := reviewUID([]byte(body)); uid != "" {
			t.Errorf("%s: %s", body, uid)
		}
	}
}
