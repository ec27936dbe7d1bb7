// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/fairlead-dev/fairlead/internal/collect"
)

// serveHealth answers a kubelet's probes. /healthz is 200 unless the collector hangs, /readyz is 200 while it writes heartbeats.
func serveHealth(address string, c *collect.Collector) (stop func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening at --health-address: %w", err)
	}
	server := &http.Server{Handler: healthHandler(c.Alive, c.Ready), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
		WriteTimeout: 5 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 8 << 10}
	go func() { _ = server.Serve(listener) }() // it ends with stop
	return func() { _ = server.Close() }, nil
}

func healthHandler(alive, ready func() error) http.Handler {
	mux := http.NewServeMux()
	for path, check := range map[string]func() error{"GET /healthz": alive, "GET /readyz": ready} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			if err := check(); err != nil {
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = fmt.Fprintln(w, err) // the probe may have given up
				return
			}
			_, _ = fmt.Fprintln(w, "ok")
		})
	}
	return mux
}
