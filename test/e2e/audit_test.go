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

// auditMark is a position in a cluster's audit log. Its methods count the requests that were logged after it.
type auditMark struct {
	cluster *TestCluster
	mark    audit.Mark
}

// audit returns a mark at the present end of the cluster's audit log.
func (c *TestCluster) audit() *auditMark {
	GinkgoHelper()
	mark, err := audit.Now(c.auditLog)
	Expect(err).NotTo(HaveOccurred())
	return &auditMark{cluster: c, mark: mark}
}

// requests returns the requests that were logged after the mark and pass all filters.
func (a *auditMark) requests(filters ...func(request) bool) []request {
	GinkgoHelper()
	found, err := a.mark.Requests(filters...)
	Expect(err).NotTo(HaveOccurred())
	return found
}

// writes returns Fairlead's writes to the cluster since the mark, without heartbeats, sorted.
func (a *auditMark) writes() []string {
	GinkgoHelper()
	return inShort(a.requests(request.IsFairleads, request.IsWrite, func(r request) bool { return !r.IsHeartbeat() }))
}

// writesFor returns Fairlead's writes since the mark, in the order of the log, that concern one namespace: writes of the
// namespace itself, of objects in it, and of the Deliveries of its wrappers. Each spec has a namespace of its own, so
// it does not see the writes that other specs cause.
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
