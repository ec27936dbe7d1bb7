// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"fmt"
)

// rotate takes the host's account off its member, so that the steps that follow make it anew: every token that there ever was
// of it is refused then, those too that are bound to nothing. What can be refused is refused before. Stopped anywhere, any join
// of this host finishes it. In a takeover the account is new already.
func (p *joiner) rotate(ctx context.Context) error {
	switch {
	case !p.opts.Rotate || p.taken:
		return nil
	case p.membership.UID == "":
		p.note("%s is no member yet: --rotate has nothing to make anew", p.member.cluster)
		return nil
	}
	if err := p.rehearse(ctx); err != nil {
		return err
	}
	if err := p.revoke(ctx, p.identity.Name); err != nil {
		return fmt.Errorf("making the account anew: %w", err)
	}
	return p.awaitForgotten(ctx)
}
