// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// delivery is the Delivery of a pair, read and written during a pass.
type delivery struct {
	conn    *member.Conn
	desired *plan.Desired
	// isNew reports whether the host knows of no Delivery of the pair on the member. The pass then creates one without
	// a read. If one exists after all, the API server refuses that.
	isNew bool
	// seals are the keys that seal Deliveries on this member; the zero value seals none and trusts none.
	seals deliveries.Seals

	// there is the Delivery as it is on the member; nil when there is none. Set by read, and updated by every write.
	there *v1alpha1.Delivery
}

// isSealed reports whether this host wrote the present Delivery.
func (d *delivery) isSealed() bool {
	return d.seals.Verify(d.there.Spec.Seal, &d.there.Spec.Wrapper, d.there.Spec.Target)
}

// read gets the pair's Delivery. If the wrapper leaves the member, a Delivery of another wrapper of the same name
// counts as absent: its objects belong to that wrapper.
func (d *delivery) read(ctx context.Context) error {
	if d.isNew && d.there == nil {
		return nil
	}
	name := d.name()
	answer, err := member.Do(ctx, d.conn.REST().Get().AbsPath(deliveries.Path(name)...), false)
	if apierrors.IsNotFound(err) {
		d.there = nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading Delivery %s on member %s: %w", name, d.conn.Name(), err)
	}
	found := &v1alpha1.Delivery{}
	if err := answer.Into(found); err != nil {
		return fmt.Errorf("reading Delivery %s on member %s: %w", name, d.conn.Name(), err)
	}
	if found.Name != name || found.UID == "" {
		return fmt.Errorf("reading Delivery %s on member %s: the answer is no Delivery: is spec.endpoint that of a Kubernetes API server?", name, d.conn.Name())
	}
	if d.desired.Leaving() && found.Spec.Wrapper.UID != d.desired.Wrapper.UID {
		return nil
	}
	d.there = found
	return nil
}

// write writes spec to the Delivery. It names the uid and the generation that are known, so that two managers cannot
// overwrite each other. A status that the collector wrote meanwhile changes neither, and is no conflict.
func (d *delivery) write(ctx context.Context, spec v1alpha1.DeliverySpec) error {
	err := d.writeOnce(ctx, spec)
	for tries := 0; tries < looksAgain && apierrors.IsConflict(err) && d.isUnchanged(ctx); tries++ {
		err = d.writeOnce(ctx, spec)
	}
	return err
}

// isUnchanged reads the Delivery again, and reports whether its spec is still the known one.
func (d *delivery) isUnchanged(ctx context.Context) bool {
	if d.there == nil {
		return false
	}
	known := d.there
	if err := d.read(ctx); err != nil || d.there == nil || d.there.UID != known.UID || d.there.Generation != known.Generation {
		d.there = known
		return false
	}
	return true
}

func (d *delivery) writeOnce(ctx context.Context, spec v1alpha1.DeliverySpec) error {
	if d.there != nil {
		return d.patch(ctx, d.there.UID, d.there.Generation, []memberapi.Operation{{Op: "replace", Path: "/spec", Value: spec}})
	}
	return d.send(ctx, d.conn.REST().Post().AbsPath(deliveries.Path("")...), &v1alpha1.Delivery{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Delivery"},
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: d.name()},
		Spec:       spec,
	})
}

// patch changes the Delivery if it has the given uid and generation. Otherwise the API server answers 422.
func (d *delivery) patch(ctx context.Context, uid types.UID, generation int64, changes []memberapi.Operation) error {
	tests := []memberapi.Operation{
		{Op: "test", Path: "/metadata/uid", Value: uid},
		{Op: "test", Path: "/metadata/generation", Value: generation},
	}
	return d.send(ctx, d.conn.REST().Patch(types.JSONPatchType).AbsPath(deliveries.Path(d.name())...), append(tests, changes...))
}

func (d *delivery) name() string { return deliveries.KeyOf(d.desired.Wrapper).Delivery() }

// send sends a write of the Delivery. The answer is the Delivery as it is now. The write is strict: an API server drops a
// field that its CRD lacks, and reports success. Without `adopted`, for example, a later pass would delete an object that
// the member's people made. A strict write is refused instead.
func (d *delivery) send(ctx context.Context, req *rest.Request, content any) error {
	name := d.name()
	body, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("encoding Delivery %s: %w", name, err)
	}
	answer, err := member.Do(ctx, req.Param("fieldManager", v1alpha1.FieldManager).Param("fieldValidation", metav1.FieldValidationStrict).Body(body), false)
	if err != nil {
		return fmt.Errorf("writing Delivery %s on member %s: %w", name, d.conn.Name(), err)
	}
	written := &v1alpha1.Delivery{}
	if err := answer.Into(written); err != nil {
		return fmt.Errorf("writing Delivery %s on member %s: %w", name, d.conn.Name(), err)
	}
	d.there = written
	return nil
}

// withdraw deletes the Delivery of a pair that has been left.
func (d *delivery) withdraw(ctx context.Context) error {
	if d.there == nil {
		return nil
	}
	err := d.withdrawOnce(ctx)
	for tries := 0; tries < looksAgain && apierrors.IsConflict(err) && d.isUnchanged(ctx); tries++ {
		err = d.withdrawOnce(ctx)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("withdrawing Delivery %s on member %s: %w", d.there.Name, d.conn.Name(), err)
	}
	d.there = nil
	return nil
}

func (d *delivery) withdrawOnce(ctx context.Context) error {
	return memberapi.DeleteExactly(ctx, d.conn, deliveries.Path(d.there.Name), metav1.Preconditions{
		UID: &d.there.UID, ResourceVersion: &d.there.ResourceVersion,
	})
}

// entries are the entries of the Delivery's inventory, by plan.ObjectID.
func (d *delivery) entries() map[plan.ObjectID]v1alpha1.InventoryEntry {
	if d.there == nil {
		return nil
	}
	entries := make(map[plan.ObjectID]v1alpha1.InventoryEntry, len(d.there.Spec.Inventory))
	for _, e := range d.there.Spec.Inventory {
		entries[plan.IDOf(&e)] = e
	}
	return entries
}
