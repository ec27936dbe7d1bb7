// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/membercollector"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// settleFor is how long the manager waits after a change of a collector's Deployment before it reads the Deployment. A
// rollout changes the Deployment several times within a second, and one read is enough for all these changes.
const settleFor = time.Second

// collectorWatch waits for changes of the collector's Deployment on a member.
type collectorWatch struct {
	conn  *member.Conn
	clock clock.WithTicker
	// refused is when the manager last failed to open the watch; zero if it never failed. A member refuses the watch if
	// an earlier version of hostctl joined it.
	refused time.Time
}

// await returns when the Deployment has changed since the resourceVersion in version, or when atMost is over. If the
// manager cannot watch the Deployment, or if the watch ends early, it returns after inspectEvery. If ctx ends, it
// returns an error.
func (w *collectorWatch) await(ctx context.Context, version string, atMost time.Duration) error {
	if version == "" || !w.refused.IsZero() && w.clock.Since(w.refused) < crdsEvery {
		return pause(ctx, w.clock, inspectEvery)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	body, err := w.open(watching, version, atMost)
	if err != nil {
		if ctx.Err() == nil {
			log.FromContext(ctx).V(1).Info("the manager could not watch the collector's Deployment on the member", "reason", err.Error())
		}
		w.refused = w.clock.Now()
		return pause(ctx, w.clock, inspectEvery)
	}
	changed := make(chan bool, 1)
	go func() { changed <- hasEvent(body) }()
	timer := w.clock.NewTimer(atMost)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
		return nil
	case is := <-changed:
		if is {
			return pause(ctx, w.clock, settleFor)
		}
		// The watch ended without an event. Without the pause, the manager would send many requests to a member that ends
		// every watch immediately.
		return pause(ctx, w.clock, inspectEvery)
	}
}

func (w *collectorWatch) open(ctx context.Context, version string, atMost time.Duration) (io.ReadCloser, error) {
	seconds := int64(atMost.Seconds()) + 1
	options := &metav1.ListOptions{Watch: true, ResourceVersion: version, TimeoutSeconds: &seconds,
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, membercollector.Name).String()}
	path := member.Path(appsv1.SchemeGroupVersion.WithResource("deployments"), v1alpha1.SystemNamespace, "")
	body, err := w.conn.REST().Get().AbsPath(path...).VersionedParams(options, metav1.ParameterCodec).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("watching the collector's Deployment on member %s: %w", w.conn.Name(), err)
	}
	return body, nil
}

// hasEvent reads the first event of a watch, and closes the watch. It ignores the content of the event, because the
// manager reads the Deployment again. It returns false if the watch ends without an event, or if the API server does
// not have the resourceVersion any more.
func hasEvent(body io.ReadCloser) bool {
	defer func() { _ = body.Close() }() // an error does not matter, because the manager reads no more of the body
	event := metav1.WatchEvent{}
	return json.NewDecoder(body).Decode(&event) == nil && event.Type != "ERROR"
}
