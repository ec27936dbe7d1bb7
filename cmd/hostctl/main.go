// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

func main() {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP) // when a terminal closes, hostctl still deletes its requests
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	root := New(streams)
	if isPlugin(os.Args[0]) {
		asPlugin(root)
	}
	code := execute(ctx, root, streams, os.Args[1:])
	stop()
	os.Exit(code)
}
