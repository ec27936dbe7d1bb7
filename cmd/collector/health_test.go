// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestTheProbesOfAKubelet(t *testing.T) {
	var hangs, silent error
	handler := healthHandler(func() error { return hangs }, func() error { return silent })
	ask := func(path string) (int, string) {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return answer.Code, strings.TrimSpace(answer.Body.String())
	}
	check := func(path string, wantCode int, want string) {
		t.Helper()
		if code, text := ask(path); code != wantCode || text != want {
			t.Errorf("%s: %d %q, want %d %q", path, code, text, wantCode, want)
		}
	}
	silent = errors.New("no heartbeat")
	check("/healthz", http.StatusOK, "ok")
	check("/readyz", http.StatusServiceUnavailable, "no heartbeat")
	silent, hangs = nil, errors.New("it hangs")
	check("/healthz", http.StatusServiceUnavailable, "it hangs")
	check("/readyz", http.StatusOK, "ok")
	if code, _ := ask("/metrics"); code != http.StatusNotFound {
		t.Errorf("another path: %d", code)
	}
}
