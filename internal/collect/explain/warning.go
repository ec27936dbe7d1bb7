// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
)

var eventsGVR = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// maxWarnings is how many events the Reader reads at most to find an object's newest warning.
const maxWarnings = 50

// Warning returns the newest Warning event about the object with this uid; nil if there is none. The namespace is that of the object, or ""
// for a cluster-scoped object. Warning also returns nil if the member does not allow the collector to read events, because events only
// explain a verdict.
func (r *Reader) Warning(ctx context.Context, namespace string, uid types.UID) (*health.Warning, error) {
	return r.newest(ctx, namespace, uid, func(string, string) bool { return true })
}

// newest returns the newest of those Warning events about an object for which the function wanted returns true.
func (r *Reader) newest(ctx context.Context, namespace string, uid types.UID, wanted func(reason, message string) bool) (*health.Warning, error) {
	ctx, cancel := context.WithTimeout(ctx, memberclient.RequestTimeout)
	defer cancel()
	if namespace == "" {
		namespace = metav1.NamespaceDefault // the events of cluster-scoped objects are in this namespace
	}
	list, err := r.client.Dynamic.Resource(eventsGVR).Namespace(namespace).List(ctx, metav1.ListOptions{
		Limit: maxWarnings,
		FieldSelector: fields.Set{
			"involvedObject.uid": string(uid), "type": corev1.EventTypeWarning,
		}.AsSelector().String(),
	})
	switch {
	case apierrors.IsForbidden(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("listing the warning events about an object: %w", err)
	}
	var newest *health.Warning
	for i := range list.Items {
		var e evidence.Event
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &e); err != nil {
			continue
		}
		if !wanted(e.Reason, e.Message) {
			continue
		}
		w := &health.Warning{Reason: e.Reason, Message: e.Message, At: e.Last()}
		if newest == nil || newest.At.Before(w.At) {
			newest = w
		}
	}
	return newest, nil
}
