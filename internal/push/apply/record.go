// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
)

// note writes the present entries to the Delivery, before a step of the pass that must not be made without that record.
func (p *Pass) note(ctx context.Context) error {
	next := p.spec()
	if equality.Semantic.DeepEqual(p.delivery.there.Spec, next) {
		return nil
	}
	return p.delivery.write(ctx, next)
}

// record writes to the Delivery what the pass has applied and removed.
func (p *Pass) record(ctx context.Context) error {
	if err := p.writeRecord(ctx); err != nil {
		return err
	}
	p.forgetRecorded()
	return nil
}

// writeRecord writes the Delivery, unless its content would stay the same. If the wrapper leaves the member and no
// entry remains, it deletes the Delivery.
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
