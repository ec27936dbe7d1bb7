// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
)

// rotate deletes the host's account and the collector's account on the member. Later steps of the join create them again.
// After the deletion the API server refuses every earlier token of the accounts, even a token that is bound to no token
// Secret.
//
// All checks that can refuse the join run before the deletion. If the join stops after the deletion, any later join by this
// host completes it. In a takeover rotate does nothing, because takeOver has already deleted the accounts.
func (p *joiner) rotate(ctx context.Context) error {
	switch {
	case !p.opts.Rotate || p.taken:
		return nil
	case p.membership.UID == "":
		p.note("%s is no member yet: --rotate has no accounts to replace", p.member.cluster)
		return nil
	}
	if err := p.rehearse(ctx); err != nil {
		return err
	}
	if err := p.revoke(ctx, p.identity.Name); err != nil {
		return fmt.Errorf("replacing the account: %w", err)
	}
	return p.awaitForgotten(ctx, "the join stopped after it deleted the host's account: the host has no access until a join has finished. Run the same command again")
}
