// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// cascade finds out whether a wrapper is being deleted with the object that contains or defines it.
type cascade struct {
	// live reads from the host's API server, not from the cache.
	live   client.Reader
	writes *writeCache
	now    time.Time
}

// deleted reports whether the wrapper is being deleted only because its namespace or its CRD is being
// deleted. If so, the members keep their objects (docs/design.md, section 7, invariant 4). After the answer "no", later
// calls do not read the namespace and the CRD again: a deletion of the namespace or CRD that begins later did not cause
// the deletion of the wrapper.
func (c cascade) deleted(ctx context.Context, w v1alpha1.Wrapper) (bool, error) {
	key := keyOf(w)
	if c.writes.isIntended(w) {
		return false, nil
	}
	if key.Namespace != "" {
		swept, err := c.deletedBefore(ctx, w.GetDeletionTimestamp(), schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}, key.Namespace)
		if swept || err != nil {
			return swept, err
		}
	}
	swept, err := c.deletedBefore(ctx, w.GetDeletionTimestamp(), schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
		strings.ToLower(string(key.Kind))+"s."+v1alpha1.Group)
	if !swept && err == nil {
		c.writes.noteIntended(w)
	}
	return swept, err
}

// deletedBefore reports whether the deletion of a cluster-scoped object of the host began no later than the deletion of the
// wrapper. deleted is the wrapper's deletionTimestamp. deletedBefore also reports true if the object does not exist: its
// deletion is complete.
func (c cascade) deletedBefore(ctx context.Context, deleted *metav1.Time, gvk schema.GroupVersionKind, name string) (bool, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(gvk)
	err := c.live.Get(ctx, client.ObjectKey{Name: name}, found)
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading %s %s: %w", gvk.Kind, name, err)
	}
	if deleted.Before(&found.CreationTimestamp) && !found.CreationTimestamp.After(c.now) {
		// The namespace or CRD was created after the deletion of the wrapper began. So the earlier namespace or CRD, to
		// which the wrapper belonged, is gone. A creation time in the future proves nothing: the API server wrote that
		// time while its clock was ahead.
		return true, nil
	}
	return found.DeletionTimestamp != nil && !deleted.Before(found.DeletionTimestamp), nil
}
