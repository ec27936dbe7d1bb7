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

// Request is one line of an audit log, with the fields that tests read.
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

// What describes a request in short: verb resource[/subresource] namespace/name.
func (r Request) What() string {
	resource := r.Object.Resource
	if r.Object.Subresource != "" {
		resource += "/" + r.Object.Subresource
	}
	return fmt.Sprintf("%s %s %s/%s", r.Verb, resource, r.Object.Namespace, r.Object.Name)
}

// IsWrite reports whether a request asked the server to change an object. A dry run does not count.
func (r Request) IsWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) && !strings.Contains(r.URI, "dryRun=")
}

// IsFairleads reports whether one of Fairlead's processes sent the request: the manager, with its pushes and its built-in collector, or a
// collector process.
func (r Request) IsFairleads() bool { return strings.HasPrefix(r.UserAgent, "fairlead") }

// IsHeartbeat reports whether the request is a collector's heartbeat.
func (r Request) IsHeartbeat() bool {
	return r.Object.Resource == "memberships" && r.Object.Subresource == "status"
}

// Mark is a position in an audit log. Requests returns what was logged after it.
type Mark struct {
	path   string
	offset int64
}

// Now returns a mark at the end of a log.
func Now(path string) (Mark, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Mark{}, fmt.Errorf("marking an audit log: %w", err)
	}
	return Mark{path: path, offset: info.Size()}, nil
}

// Requests returns the requests that the server answered since the mark, each once. It returns only those that pass all
// filters. A watch counts when it begins.
func (m Mark) Requests(filters ...func(Request) bool) (found []Request, err error) {
	log, err := os.Open(m.path)
	if err != nil {
		return nil, fmt.Errorf("reading an audit log: %w", err)
	}
	defer func() { _ = log.Close() }() // it was only read
	if info, err := log.Stat(); err != nil || info.Size() < m.offset {
		return nil, errors.Join(fmt.Errorf("reading audit log %s: it was rotated while requests were counted", m.path), err)
	}
	if _, err := log.Seek(m.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading an audit log: %w", err)
	}
	seen := make(map[string]bool)
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF { // the server may be in the middle of a line
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
