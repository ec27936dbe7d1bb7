// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Request is one line of an audit log, reduced to the fields that tests read.
type Request struct {
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
		APIGroup    string `json:"apiGroup"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		Subresource string `json:"subresource"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

// What returns a description of a request: VERB RESOURCE[/SUBRESOURCE] NAMESPACE/NAME.
func (r Request) What() string {
	resource := r.Object.Resource
	if r.Object.Subresource != "" {
		resource += "/" + r.Object.Subresource
	}
	return fmt.Sprintf("%s %s %s/%s", r.Verb, resource, r.Object.Namespace, r.Object.Name)
}

// IsWrite reports whether a request asked the server to change an object. A dry run is not a write.
func (r Request) IsWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) && !strings.Contains(r.URI, "dryRun=")
}

// IsFairleads reports whether the manager, or a collector in a process of its own, sent the request.
func (r Request) IsFairleads() bool { return strings.HasPrefix(r.UserAgent, "fairlead") }

// IsHeartbeat reports whether the request is a collector's heartbeat: a request for the status of the Membership.
func (r Request) IsHeartbeat() bool {
	return r.Object.Resource == "memberships" && r.Object.Subresource == "status"
}

// Mark is a position in an audit log. It can be inside a line, because the server may be writing that line when a test
// takes the mark.
type Mark struct {
	path   string
	offset int64
}

// Now returns a mark at the present end of a log.
func Now(path string) (Mark, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Mark{}, fmt.Errorf("marking an audit log: %w", err)
	}
	return Mark{path: path, offset: info.Size()}, nil
}

// Requests returns the requests that the server logged after the mark and that pass all filters. A request that the log
// has several times is in the result once: a watch, for example, is logged when it begins and when it ends. A line that
// the server had not finished at the mark counts as logged before the mark.
func (m Mark) Requests(filters ...func(Request) bool) (found []Request, err error) {
	log, err := os.Open(m.path)
	if err != nil {
		return nil, fmt.Errorf("reading an audit log: %w", err)
	}
	defer func() { _ = log.Close() }() // the file was only read, so an error of Close loses nothing
	if info, err := log.Stat(); err != nil || info.Size() < m.offset {
		return nil, errors.Join(fmt.Errorf("reading audit log %s: it was rotated while requests were counted", m.path), err)
	}
	lines := bufio.NewReader(log)
	if m.offset > 0 {
		// Skip the line that has the last byte before the mark.
		if _, err := log.Seek(m.offset-1, io.SeekStart); err != nil {
			return nil, fmt.Errorf("reading an audit log: %w", err)
		}
		if _, err := lines.ReadBytes('\n'); err != nil && err != io.EOF {
			return nil, fmt.Errorf("reading an audit log: %w", err)
		}
	}
	seen := make(map[string]bool)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF { // the bytes after the last newline belong to a line that the server has not finished
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading an audit log: %w", err)
		}
		var r Request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("reading audit log %s: %w", m.path, err)
		}
		if seen[r.AuditID] {
			continue
		}
		seen[r.AuditID] = true
		if !slices.ContainsFunc(filters, func(f func(Request) bool) bool { return !f(r) }) {
			found = append(found, r)
		}
	}
}
