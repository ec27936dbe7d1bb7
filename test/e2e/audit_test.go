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

// auditMark is a position in a cluster's audit log. Requests count from there on.
type auditMark struct {
	cluster *TestCluster
	mark    audit.Mark
}

// audit starts to count.
func (c *TestCluster) audit() *auditMark {
	GinkgoHelper()
	mark, err := audit.Now(c.auditLog)
	Expect(err).NotTo(HaveOccurred())
	return &auditMark{cluster: c, mark: mark}
}

// requests returns the requests answered since the mark that pass all filters.
func (a *auditMark) requests(filters ...func(request) bool) []request {
	GinkgoHelper()
	found, err := a.mark.Requests(filters...)
	Expect(err).NotTo(HaveOccurred())
	return found
}

// writes returns the host's writes to the member since the mark, without heartbeats, sorted.
func (a *auditMark) writes() []string {
	GinkgoHelper()
	return inShort(a.requests(request.IsFairleads, request.IsWrite, func(r request) bool { return !r.IsHeartbeat() }))
}

// writesFor returns the host's writes to the member since the mark for the wrappers of one namespace, in the order of the log: the
// namespace, its objects, and the Deliveries of the wrappers. Writes for wrappers of earlier specs are not among them.
func (a *auditMark) writesFor(namespace string) (writes []string) {
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
