// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// pprofAddress is the address at which the manager serves profiles, with PROFILE=1.
const pprofAddress = "127.0.0.1:6069"

// profileSeconds is the length of a CPU profile. W1 and W3 take about as long on two cores.
const profileSeconds = 110

// profile starts a CPU profile of the manager, with PROFILE=1. stop waits for its end and takes a heap profile.
func (b *bed) profile(ctx context.Context, name string) (stop func() error, err error) {
	if b.profiles == "" {
		return func() error { return nil }, nil
	}
	done := make(chan error, 1)
	go func() {
		done <- b.fetch(ctx, fmt.Sprintf("profile?seconds=%d", profileSeconds), name+".cpu.pprof")
	}()
	return func() error {
		b.step.Update("waiting for the CPU profile to end")
		return errors.Join(<-done, b.fetch(ctx, "heap", name+".heap.pprof"))
	}, nil
}

func (b *bed) fetch(ctx context.Context, what, file string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+pprofAddress+"/debug/pprof/"+what, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("taking a profile: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read, or that failed
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("taking a profile: %w", err)
	}
	return os.WriteFile(filepath.Join(b.profiles, file), data, 0o600)
}
