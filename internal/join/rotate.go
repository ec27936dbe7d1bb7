// SPDX-License-Identifier: Apache-2.0

package join

import (
	"cmp"
	"context"
	"fmt"

	"github.com/fairlead-dev/fairlead/internal/join/memberinstall"
)

// rotate deletes the host's account and the collector's account on the member. Later steps of the join create them again.
// After the deletion the API server refuses every earlier token of the accounts, even a token that is bound to no token
// Secret.
//
// All checks that can refuse the join run before the deletion. If the join stops after the deletion, any later join by this
// host completes it. In a takeover rotate does nothing, because takeOver has already deleted the accounts.
func (j *joiner) rotate(ctx context.Context, p plan) error {
	switch {
	case !j.opts.Rotate || p.taken:
		return nil
	case p.found.membership.UID == "":
		j.Steps.Note("%s is no member yet: --rotate has no accounts to replace", j.Member.Name)
		return nil
	}
	if err := p.rehearse(ctx, j.Pair, j.now); err != nil {
		return err
	}
	if err := memberinstall.Revoke(ctx, j.Pair, p.collector, p.found.identity.Name); err != nil {
		return fmt.Errorf("replacing the account: %w", err)
	}
	return memberinstall.AwaitForgotten(ctx, j.Pair, cmp.Or(j.opts.tokenMemory, memberinstall.TokenMemory),
		"the join stopped after it deleted the host's account: the host has no access until a join has finished. Run the same command again")
}
