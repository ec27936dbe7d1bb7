// SPDX-License-Identifier: Apache-2.0

package join

import (
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/internal/join/tokens"
)

// The tests on real clusters are in package join_test, because the sandbox that they use imports package join. These
// tests use the identifiers below.

// Remembering shortens a join's wait for the API servers to forget the tokens of a deleted account: the join waits for the
// given time.
func (o Options) Remembering(memory time.Duration) Options {
	o.tokenMemory = memory
	return o
}

// Impatient returns options for a join that gives up as soon as it reads that the collector does not start.
func (o Options) Impatient() Options {
	o.patience = time.Millisecond
	return o
}

// BoundTo returns the name of the Secret on a member to which a token is bound.
func BoundTo(t *testing.T, token string) string {
	t.Helper()
	c, err := tokens.Read(token)
	if err != nil {
		t.Fatal(err)
	}
	return c.BoundTo()
}
