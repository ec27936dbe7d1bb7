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

// oneWay is how long a byte is under way to the member that is far, and back again.
const oneWay = 50 * time.Millisecond

// deliverFar delivers to members of which one is reached by a proxy that is 100 ms away: Seconds is until the last object is
// there.
func deliverFar(ctx context.Context, b *bed) (_ *reading, err error) {
	proxy := httptest.NewServer(http.HandlerFunc(relay))
	defer proxy.Close()
	far := b.members[0].name
	if err := b.reachBy(ctx, far, &proxy.URL); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.reachBy(context.WithoutCancel(ctx), far, nil)) }()
	return b.deliverFreshly(ctx, "far")
}

// reachBy has the host reach a member by a proxy, or by none.
func (b *bed) reachBy(ctx context.Context, name string, proxyURL *string) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"proxyURL": proxyURL}})
	if err != nil {
		return err
	}
	mc := &v1alpha1.MemberCluster{}
	mc.Name = name
	return b.host.Patch(ctx, mc, client.RawPatch(types.MergePatchType, patch))
}

// relay answers CONNECT, and passes on what comes then, later.
func relay(w http.ResponseWriter, r *http.Request) {
	far, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = far.Close() // nobody has used it
		return
	}
	_, _ = near.Write([]byte("HTTP/1.1 200 OK\r\n\r\n")) // whoever does not get it hears no more either
	go lag(near, far)
	lag(far, near)
}

// piece is what was read at once, and when it is to arrive.
type piece struct {
	data []byte
	due  time.Time
}

// lag passes on what comes from one side to the other, until either ends.
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
	_ = to.Close() // what is behind it ends likewise
	for range underWay {
		// so that the reader ends
	}
}
