// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/fairlead-dev/fairlead/internal/testing/audit"
)

type request = audit.Request

// tally is a place in a cluster's audit log, from which on requests count.
type tally struct {
	cluster *Cluster
	mark    audit.Mark
}

// audit begins to count.
func (c *Cluster) audit() *tally {
	GinkgoHelper()
	mark, err := audit.Now(c.auditLog)
	Expect(err).NotTo(HaveOccurred())
	return &tally{cluster: c, mark: mark}
}

// requests are those answered since that all filters let through.
func (a *tally) requests(filters ...func(request) bool) []request {
	GinkgoHelper()
	found, err := a.mark.Requests(filters...)
	Expect(err).NotTo(HaveOccurred())
	return found
}

// writes are what the host wrote to the member since, heartbeats aside, sorted.
func (a *tally) writes() []string {
	GinkgoHelper()
	return inShort(a.requests(request.IsFairleads, request.IsWrite, func(r request) bool { return !r.IsHeartbeat() }))
}

// writesFor are, in the order of the log, what the host wrote to the member since for the wrappers of one namespace: the
// namespace, its objects, and the Deliveries of the wrappers. What an earlier spec left to settle is not among them.
func (a *tally) writesFor(namespace string) (writes []string) {
	GinkgoHelper()
	for _, r := range a.requests(request.IsFairleads, request.IsWrite) {
		if o := r.Object; o.Namespace == namespace || o.Name == namespace || strings.Contains(o.Name, "."+namespace+".") {
			writes = append(writes, r.What())
		}
	}
	return writes
}

func inShort(all []request) []string {
	short := make([]string, 0, len(all))
	for _, r := range all {
		short = append(short, r.What())
	}
	slices.Sort(short)
	return short
}
