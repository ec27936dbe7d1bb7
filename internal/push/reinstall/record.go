// SPDX-License-Identifier: Apache-2.0

package reinstall

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// maxRecord is the greatest length of the annotation in bytes. Anyone with rights in fairlead-system of the member could write a
// longer one.
const maxRecord = 64 << 10

// record is the annotation of a Delivery: by the names of Subscriptions, the last reinstall of each.
type record struct {
	delivery *metav1.PartialObjectMetadata
	begun    map[string]upgrade.Begun
}

// readRecord reads the record of a wrapper. unreadable is why the annotation cannot be used, in words. Then it is not known what a
// manager had begun.
func readRecord(ctx context.Context, conn *member.Conn, delivery string) (r *record, unreadable string, err error) {
	r = &record{}
	if r.delivery, err = memberapi.Metadata(ctx, conn, deliveries.Path(delivery)); err != nil {
		return nil, "", fmt.Errorf("reading Delivery %s on member %s: %w", delivery, conn.Name(), err)
	}
	text := r.delivery.Annotations[v1alpha1.AnnotationReinstalls]
	if text == "" {
		return r, "", nil
	}
	if len(text) > maxRecord {
		return nil, fmt.Sprintf("it has more than %d bytes", maxRecord), nil
	}
	if err := json.Unmarshal([]byte(text), &r.begun); err != nil {
		return nil, "it is not the expected JSON", nil //nolint:nilerr // an annotation that cannot be read is a trouble of this wrapper, and not of the member
	}
	return r, "", nil
}

// of returns the last reinstall of a Subscription; nil if there was none.
func (r *record) of(subscription string) *upgrade.Begun {
	if begun, ok := r.begun[subscription]; ok {
		return &begun
	}
	return nil
}

// write records that a reinstall begins. The API server refuses the write (409 or 422) if the Delivery has changed since the record was read.
func (r *record) write(ctx context.Context, conn *member.Conn, subscription string, begun *upgrade.Begun) error {
	next := maps.Clone(r.begun)
	if next == nil {
		next = make(map[string]upgrade.Begun, 1)
	}
	next[subscription] = *begun
	text, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("encoding the record of a reinstall: %w", err)
	}
	patch := []memberapi.Operation{
		{Op: "test", Path: "/metadata/uid", Value: r.delivery.UID},
		{Op: "test", Path: "/metadata/resourceVersion", Value: r.delivery.ResourceVersion},
	}
	if len(r.delivery.Annotations) == 0 {
		patch = append(patch, memberapi.Operation{Op: "add", Path: "/metadata/annotations", Value: map[string]string{v1alpha1.AnnotationReinstalls: string(text)}})
	} else {
		patch = append(patch, memberapi.Operation{Op: "add", Path: memberapi.AnnotationPointer(v1alpha1.AnnotationReinstalls), Value: string(text)})
	}
	_, err = memberapi.PatchDelivery(ctx, conn, r.delivery.Name, patch)
	return err
}
