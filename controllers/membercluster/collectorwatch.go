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

// settleFor is the time between a change of a collector's Deployment and the read. A rollout changes the Deployment several
// times within a second.
const settleFor = time.Second

// collectorWatch waits for changes of the Deployment of a collector that runs on a member.
type collectorWatch struct {
	conn  *member.Conn
	clock clock.WithTicker
	// refused is when the member last refused a watch: a join of an earlier version granted none. The zero value is never.
	refused time.Time
}

// await returns when the Deployment of the given version has changed, or after atMost. Where it cannot watch, it waits as long
// as between two reads of a Deployment that is not watched. It returns an error when ctx has ended.
func (w *collectorWatch) await(ctx context.Context, version string, atMost time.Duration) error {
	if version == "" || !w.refused.IsZero() && w.clock.Since(w.refused) < crdsEvery {
		return pause(ctx, w.clock, inspectEvery)
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	body, err := w.open(watching, version, atMost)
	if err != nil {
		if ctx.Err() == nil {
			log.FromContext(ctx).V(1).Info("the collector's Deployment is not watched", "reason", err.Error())
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
		// A member that ends every watch immediately gets no more requests than one that refuses watches.
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

// hasEvent reads the first event of a watch, and closes it. The event itself does not matter: the Deployment is read again. It
// is false when the watch ends, or when the API server no longer knows the version.
func hasEvent(body io.ReadCloser) bool {
	defer func() { _ = body.Close() }() // nothing more is read
	event := metav1.WatchEvent{}
	return json.NewDecoder(body).Decode(&event) == nil && event.Type != "ERROR"
}
