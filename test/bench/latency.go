// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// oneWay is the delay that the proxy adds in each direction.
const oneWay = 50 * time.Millisecond

// deliverFar runs the work "far": it delivers objects while the host reaches one member through a proxy that adds 100 ms to each round
// trip. Seconds is the time until the last object is on every member.
func deliverFar(ctx context.Context, b *bed) (_ *reading, err error) {
	proxy := httptest.NewServer(http.HandlerFunc(relay))
	defer proxy.Close()
	far := b.members[0].name
	if err := reachBy(ctx, b.host, far, &proxy.URL); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, reachBy(context.WithoutCancel(ctx), b.host, far, nil)) }()
	return b.deliverFreshly(ctx, "far")
}

// reachBy makes the host reach a member through a proxy; nil removes the proxy.
func reachBy(ctx context.Context, host client.Writer, name string, proxyURL *string) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"proxyURL": proxyURL}})
	if err != nil {
		return err
	}
	mc := &v1alpha1.MemberCluster{}
	mc.Name = name
	return host.Patch(ctx, mc, client.RawPatch(types.MergePatchType, patch))
}

// relay answers a CONNECT request, and then forwards all bytes in both directions with a delay.
func relay(w http.ResponseWriter, r *http.Request) {
	far, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = far.Close() // it was not used
		return
	}
	_, _ = near.Write([]byte("HTTP/1.1 200 OK\r\n\r\n")) // after an error here, the first write of lag fails too
	go lag(near, far)
	lag(far, near)
}

// piece has the bytes of one read, and the time at which lag has to write them.
type piece struct {
	data []byte
	due  time.Time
}

// lag forwards bytes with the delay oneWay, until either side ends.
func lag(to io.WriteCloser, from io.Reader) {
	underWay := make(chan piece, 1000)
	go func() {
		defer close(underWay)
		for {
			data := make([]byte, 32<<10)
			n, err := from.Read(data)
			if n > 0 {
				underWay <- piece{data[:n], time.Now().Add(oneWay)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range underWay {
		time.Sleep(time.Until(p.due))
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	_ = to.Close() // closing this side ends the other direction as well
	for range underWay {
		// empty the channel, so that the reading goroutine does not block on it
	}
}
