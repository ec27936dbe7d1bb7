// SPDX-License-Identifier: Apache-2.0

package join

import (
	"testing"
	"time"
)

// The tests on real clusters are a package of their own, since the sandbox that they stand on joins its members by
// this package. This is what they need of its inside.
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

// Remembering is the options for a member whose API servers forget tokens as fast as that.
func (o Options) Remembering(memory time.Duration) Options {
	o.tokenMemory = memory
	return o
}

// Impatient is the options for a join that gives up as soon as a collector does not start.
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
