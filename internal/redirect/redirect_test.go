// SPDX-License-Identifier: Apache-2.0

package redirect

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

func TestARedirectIsNotFollowed(t *testing.T) {
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	for _, code := range []int{300, 301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other.URL+"/"+strings.Repeat("x", 200))
			w.WriteHeader(code)
		}))
		client := &http.Client{Transport: Refuse(http.DefaultTransport)}
		for _, method := range []string{http.MethodGet, http.MethodPatch, http.MethodDelete} {
			req, err := http.NewRequestWithContext(t.Context(), method, server.URL, strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err == nil {
				_ = resp.Body.Close()
			}
			refused := (*Error)(nil)
			if !errors.As(err, &refused) || refused.Status != code || refused.Method != method || len(refused.Error()) > 400 {
				t.Errorf("%s %d: %v", method, code, err)
			}
		}
		server.Close()
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went elsewhere", n)
	}
}

func TestOtherAnswersPass(t *testing.T) {
	for _, code := range []int{200, 201, 304, 404, 500} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/here")
			w.WriteHeader(code)
		}))
		resp, err := (&http.Client{Transport: Refuse(http.DefaultTransport)}).Get(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != code {
			t.Errorf("%d became %d", code, resp.StatusCode)
		}
		server.Close()
	}
}
