// SPDX-License-Identifier: Apache-2.0

package boundedread

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestAClosedBodyTakesNothingOutOfTheBudget(t *testing.T) {
	answers := NewAnswers()
	b := &body{ReadCloser: io.NopCloser(strings.NewReader(`{"a":"late"}`)), max: 100, closed: func() {}, answers: answers}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Read(make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	if bytes, weight := answers.Used(); bytes != 0 || weight != 0 {
		t.Errorf("%d bytes that weigh %d still count as being read", bytes, weight)
	}
}

func TestTheLimitOfAnAnswerDependsOnTheRequest(t *testing.T) {
	for name, tt := range map[string]struct {
		path string
		code int
		max  int
	}{
		"an object":                    {path: "/api/v1/namespaces/a", code: http.StatusOK, max: MaxAnswer},
		"a page of a list":             {path: "/api/v1/namespaces?limit=500", code: http.StatusOK, max: MaxList},
		"a list of any version":        {path: "/api/v1/namespaces?resourceVersion=0", code: http.StatusOK, max: MaxList},
		"an event of a watch":          {path: "/api/v1/namespaces?watch=true&resourceVersion=1", code: http.StatusOK, max: MaxEvent},
		"a refusal of a list":          {path: "/api/v1/namespaces?limit=500", code: http.StatusForbidden, max: MaxRefusal},
		"a failure of a single object": {path: "/api/v1/namespaces/a", code: http.StatusInternalServerError, max: MaxRefusal},
	} {
		t.Run(name, func(t *testing.T) {
			answers := NewAnswers()
			read := func(length int) error {
				resp := &http.Response{StatusCode: tt.code, Body: io.NopCloser(strings.NewReader(`"` + strings.Repeat("x", length-2) + `"`))}
				closed := false
				b := answers.Body(httptest.NewRequest(http.MethodGet, tt.path, nil), resp, func() { closed = true })
				_, err := io.Copy(io.Discard, b)
				if err := b.Close(); err != nil || !closed {
					t.Errorf("closing: %v, closed was called: %v", err, closed)
				}
				return err
			}
			if err := read(tt.max); err != nil {
				t.Errorf("%d bytes: %v", tt.max, err)
			}
			tooLarge := (*TooLargeError)(nil)
			if err := read(tt.max + 1); !errors.As(err, &tooLarge) || tooLarge.Max != tt.max {
				t.Errorf("%d bytes: %v", tt.max+1, err)
			}
			if bytes, weight := answers.Used(); bytes != 0 || weight != 0 {
				t.Errorf("%d bytes that weigh %d still count as being read", bytes, weight)
			}
		})
	}
}

// Many responses could fill the memory together although each is within its own limit.
func TestAllAnswersTogetherHaveABudget(t *testing.T) {
	answers := NewAnswers()
	open := func() io.ReadCloser {
		resp := &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`"` + strings.Repeat("x", MaxAnswer-2) + `"`))}
		return answers.Body(httptest.NewRequest(http.MethodGet, "/version", nil), resp, func() {})
	}
	var held []io.ReadCloser
	for range MaxList / MaxAnswer {
		b := open()
		if _, err := io.Copy(io.Discard, b); err != nil {
			t.Fatalf("answer %d: %v", len(held)+1, err)
		}
		held = append(held, b)
	}
	last := open()
	_, err := io.Copy(io.Discard, last)
	if tooLarge := (*TooLargeError)(nil); !errors.As(err, &tooLarge) {
		t.Errorf("one more answer: %v", err)
	}
	for _, b := range append(held, last) {
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.Copy(io.Discard, open()); err != nil {
		t.Errorf("after all are closed: %v", err)
	}
}

// A log weighs as much as its bytes, because no caller decodes it. A client does decode an object with the name log.
func TestOnlyAPodsLogIsPlainText(t *testing.T) {
	for path, want := range map[string]bool{
		"/api/v1/namespaces/shop/pods/web/log":          true,
		"/proxy/api/v1/namespaces/shop/pods/web/log":    true,
		"/apis/apps/v1/namespaces/shop/deployments/log": false,
		"/api/v1/namespaces/shop/pods/log":              false,
	} {
		if got := IsLog(httptest.NewRequest(http.MethodGet, path, nil)); got != want {
			t.Errorf("%s: %t", path, got)
		}
	}
	if IsLog(httptest.NewRequest(http.MethodPatch, "/api/v1/namespaces/shop/pods/web/log", nil)) {
		t.Error("a patch reads no log")
	}
}
