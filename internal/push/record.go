// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
)

// note writes down in the middle of a pass what must stand before its next step.
func (p *pass) note(ctx context.Context) error {
	next := p.spec()
	if equality.Semantic.DeepEqual(p.delivery.Spec, next) {
		return nil
	}
	return p.write(ctx, next)
}

// record writes down how far the pass got. A member that was left keeps no Delivery.
func (p *pass) record(ctx context.Context) error {
	next := p.spec()
	if p.want.Leaving() && len(next.Inventory) == 0 {
		return p.withdraw(ctx)
	}
	if p.delivery == nil || equality.Semantic.DeepEqual(p.delivery.Spec, next) ||
		equality.Semantic.DeepEqual(p.delivery.Spec.Inventory, next.Inventory) && takesOnlyNewNames(&p.delivery.Spec, &next) {
		return nil
	}
	return p.write(ctx, next)
}
