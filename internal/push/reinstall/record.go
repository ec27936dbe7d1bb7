// SPDX-License-Identifier: Apache-2.0

package reinstall

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// record is the annotation of a Delivery: by the names of Subscriptions, the last reinstall of each.
type record struct {
	delivery *v1alpha1.Delivery
	begun    upgrade.Records
}

// readRecord reads the record of a wrapper. unreadable is why the annotation cannot be used, in words. Then it is not known what a
// manager had begun.
func readRecord(ctx context.Context, conn *member.Conn, delivery string) (r *record, unreadable string, err error) {
	r = &record{}
	if r.delivery, err = memberapi.ReadDelivery(ctx, conn, delivery); err != nil {
		return nil, "", fmt.Errorf("reading Delivery %s on member %s: %w", delivery, conn.Name(), err)
	}
	if r.begun, err = upgrade.ParseRecords(r.delivery.Annotations[v1alpha1.AnnotationReinstalls]); err != nil {
		return nil, err.Error(), nil //nolint:nilerr // an annotation that cannot be read is a trouble of this wrapper, and not of the member
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

// write changes the records of these Subscriptions. refused is why the API server did not accept that, in words: for example, the
// Delivery has changed since the record was read. An error concerns the member as a whole.
func (r *record) write(ctx context.Context, conn *member.Conn, changed upgrade.Records, now time.Time) (refused string, err error) {
	next := r.begun.With(changed, now)
	text, err := next.Text()
	if err != nil {
		return err.Error(), nil //nolint:nilerr // records that are too long are a trouble of this wrapper, and not of the member
	}
	patch := []memberapi.Operation{
		{Op: "test", Path: "/metadata/uid", Value: r.delivery.UID},
		{Op: "test", Path: "/metadata/resourceVersion", Value: r.delivery.ResourceVersion},
	}
	if len(r.delivery.Annotations) == 0 {
		patch = append(patch, memberapi.Operation{Op: "add", Path: "/metadata/annotations", Value: map[string]string{v1alpha1.AnnotationReinstalls: text}})
	} else {
		patch = append(patch, memberapi.Operation{Op: "add", Path: memberapi.AnnotationPointer(v1alpha1.AnnotationReinstalls), Value: text})
	}
	written, err := memberapi.PatchDelivery(ctx, conn, r.delivery.Name, patch)
	switch {
	case err == nil:
		r.delivery, r.begun = written, next
		return "", nil
	case apierrors.IsConflict(err), apierrors.IsInvalid(err):
		return "its Delivery has just changed; the manager tries again", nil
	case memberapi.AnsweredAbout(v1alpha1.Group, err):
		return memberapi.Explain("recording a reinstall in", memberapi.Ref("Delivery", r.delivery.Name), err).Message, nil
	}
	return "", err
}

// isAdopted reports whether a Subscription was adopted, according to the inventory. The annotation on the Subscription may be missing.
// An inventory without the Subscription does not tell, so it counts as adopted.
func (r *record) isAdopted(subscription string) bool {
	for i := range r.delivery.Spec.Inventory {
		if e := &r.delivery.Spec.Inventory[i]; e.Group == upgrade.Subscription.Group && e.Kind == upgrade.Subscription.Kind && e.Name == subscription {
			return e.Adopted == v1alpha1.AdoptedYes
		}
	}
	return true
}
