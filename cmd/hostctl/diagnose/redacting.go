// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// redacting is a client for the host that removes the secrets from the objects and events that it reads. hostctl makes the summary from
// these objects and events. hostctl cannot redact the finished summary instead. The redaction finds a passphrase with spaces only if its
// key begins a line, and in the summary other words can stand before the key.
type redacting struct{ client.Client }

// Get reads an object and redacts it.
func (h redacting) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := h.Client.Get(ctx, key, obj, opts...); err != nil {
		return err
	}
	return redactInPlace(obj)
}

// List reads a list. It redacts a list of events, and no other list: of other kinds, the summary lists only the metadata.
func (h redacting) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := h.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	if events, ok := list.(*corev1.EventList); ok {
		for i := range events.Items {
			if err := redactInPlace(&events.Items[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// redactInPlace redacts a typed object. It does not count the secrets: the files of the archive have the same
// texts, and there they are counted.
func redactInPlace(obj client.Object) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return err
	}
	uncounted := &redaction{}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(uncounted.object(content), obj)
}
