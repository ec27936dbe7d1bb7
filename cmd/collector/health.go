// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/fairlead-dev/fairlead/internal/collect"
)

// serveHealth serves a kubelet's probes at an address. /healthz answers 503 if the collector hangs. /readyz answers 503 if the collector
// cannot write heartbeats. Otherwise both answer 200. stop ends the server.
func serveHealth(address string, c *collect.Collector) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening at --health-address: %w", err)
	}
	server := &http.Server{Handler: healthHandler(c.Alive, c.Ready), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
		WriteTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10}
	go func() { _ = server.Serve(listener) }() // Serve returns an error once stop was called
	return func() { _ = server.Close() }, nil
}

func healthHandler(alive, ready func() error) http.Handler {
	mux := http.NewServeMux()
	for path, check := range map[string]func() error{"GET /healthz": alive, "GET /readyz": ready} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			if err := check(); err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = fmt.Fprintln(w, err) // a write fails only if the kubelet has given up the request
				return
			}
			_, _ = fmt.Fprintln(w, "ok")
		})
	}
	return mux
}
