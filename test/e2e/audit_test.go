// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// request is one line of an API server's audit log, as far as specs ask.
type request struct {
	AuditID   string `json:"auditID"`
	Stage     string `json:"stage"`
	Verb      string `json:"verb"`
	UserAgent string `json:"userAgent"`
	URI       string `json:"requestURI"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Resource    string `json:"resource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// what is a request in short: verb resource[/subresource] namespace/name.
func (r request) what() string {
	resource := r.Object.Resource
	if r.Object.Subresource != "" {
		resource += "/" + r.Object.Subresource
	}
	return fmt.Sprintf("%s %s %s/%s", r.Verb, resource, r.Object.Namespace, r.Object.Name)
}

// isWrite says whether a request asked the server to change something, and a rehearsal is none.
func (r request) isWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) && !strings.Contains(r.URI, "dryRun=")
}

// isFairleads says whether the host sent it: its manager's own pushes, and the collector that runs inside it.
func (r request) isFairleads() bool { return strings.HasPrefix(r.UserAgent, "fairlead") }

// isHeartbeat says whether it is a collector's sign of life.
func (r request) isHeartbeat() bool {
	return r.Object.Resource == "memberships" && r.Object.Subresource == "status"
}

// audit is a place in a cluster's audit log, from which on requests count.
type audit struct {
	cluster *Cluster
	offset  int64
}

// audit begins to count.
func (c *Cluster) audit() *audit {
	GinkgoHelper()
	info, err := os.Stat(c.auditLog)
	Expect(err).NotTo(HaveOccurred())
	return &audit{cluster: c, offset: info.Size()}
}

// requests are those answered since, each once (a watch when it began), that all filters let through.
func (a *audit) requests(filters ...func(request) bool) []request {
	GinkgoHelper()
	log, err := os.Open(a.cluster.auditLog)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = log.Close() }() // read only
	info, err := log.Stat()
	Expect(err).NotTo(HaveOccurred())
	Expect(info.Size()).To(BeNumerically(">=", a.offset), "the audit log of %s was rotated while requests were counted", a.cluster.Name)
	_, err = log.Seek(a.offset, io.SeekStart)
	Expect(err).NotTo(HaveOccurred())

	seen := make(map[string]bool)
	var found []request
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF { // the server may be in the middle of a line
			return found
		}
		Expect(err).NotTo(HaveOccurred())
		var r request
		Expect(json.Unmarshal(line, &r)).To(Succeed())
		if seen[r.AuditID] {
			continue
		}
		seen[r.AuditID] = true
		if !slices.ContainsFunc(filters, func(f func(request) bool) bool { return !f(r) }) {
			found = append(found, r)
		}
	}
}

// writes are what the host wrote to the member since, heartbeats aside, sorted.
func (a *audit) writes() []string {
	GinkgoHelper()
	return inShort(a.requests(request.isFairleads, request.isWrite, func(r request) bool { return !r.isHeartbeat() }))
}

func inShort(all []request) []string {
	short := make([]string, 0, len(all))
	for _, r := range all {
		short = append(short, r.what())
	}
	slices.Sort(short)
	return short
}
