// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
)

// note writes the Delivery in the middle of a pass, before a step that relies on its content.
func (p *Pass) note(ctx context.Context) error {
	next := p.spec()
	if equality.Semantic.DeepEqual(p.delivery.there.Spec, next) {
		return nil
	}
	return p.delivery.write(ctx, next)
}

// record writes the progress of the pass to the Delivery.
func (p *Pass) record(ctx context.Context) error {
	if err := p.writeRecord(ctx); err != nil {
		return err
	}
	p.forgetRecorded()
	return nil
}

// writeRecord writes the Delivery, unless it has the right content already. When the wrapper leaves and no entry remains, it
// deletes the Delivery.
func (p *Pass) writeRecord(ctx context.Context) error {
	next := p.spec()
	if p.desired.Leaving() && len(next.Inventory) == 0 {
		return p.delivery.withdraw(ctx)
	}
	if p.delivery.there == nil || equality.Semantic.DeepEqual(p.delivery.there.Spec, next) ||
		equality.Semantic.DeepEqual(p.delivery.there.Spec.Inventory, next.Inventory) && takesOnlyNewNames(&p.delivery.there.Spec, &next) {
		return nil
	}
	return p.delivery.write(ctx, next)
}
