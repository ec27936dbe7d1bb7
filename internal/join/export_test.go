// SPDX-License-Identifier: Apache-2.0

package join

import (
	"testing"
	"time"
)

// The tests on real clusters are in a package of their own, because the sandbox that they use imports this package. The
// identifiers below are for them.
var (
	Scheme      = scheme
	Absent      = absent
	Describe    = describe
	Established = established
	IdentityOf  = identityOf

	ServiceAccount  = serviceAccount
	SystemNamespace = systemNamespace
	WordsDiff       = wordsDiff
)

// The CRDs of the kinds that live on members.
const (
	CRDDeliveries  = crdDeliveries
	CRDMemberships = crdMemberships
)

// Remembering returns options for a member whose API servers accept a deleted account's token only for this long.
func (o Options) Remembering(memory time.Duration) Options {
	o.tokenMemory = memory
	return o
}

// Impatient returns options for a join that gives up as soon as a collector does not start.
func (o Options) Impatient() Options {
	o.patience = time.Millisecond
	return o
}

// BoundTo is the name of the Secret on a member that a token is bound to.
func BoundTo(t *testing.T, token string) string {
	t.Helper()
	c, err := readToken(token)
	if err != nil {
		t.Fatal(err)
	}
	return c.secret.name
}
