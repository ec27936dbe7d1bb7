// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
)

// rotate deletes the host's account on its member, so that the steps that follow make it again. After that the API
// server refuses every token the account ever had, also tokens that are bound to no Secret. All checks that can
// refuse run before it. If the join stops at any point, any join of this host finishes it. In a takeover the account
// is already new.
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
