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

// Request is one line of an audit log, as far as anybody asks.
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

// What is a request in short: verb resource[/subresource] namespace/name.
func (r Request) What() string {
	resource := r.Object.Resource
	if r.Object.Subresource != "" {
		resource += "/" + r.Object.Subresource
	}
	return fmt.Sprintf("%s %s %s/%s", r.Verb, resource, r.Object.Namespace, r.Object.Name)
}

// IsWrite says whether a request asked the server to change something; a rehearsal is none.
func (r Request) IsWrite() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, r.Verb) && !strings.Contains(r.URI, "dryRun=")
}

// IsFairleads says whether one of Fairlead's processes sent it: the manager (whose pushes, and whose collector, reach members
// too) or a collector of its own.
func (r Request) IsFairleads() bool { return strings.HasPrefix(r.UserAgent, "fairlead") }

// IsHeartbeat says whether it is a collector's sign of life.
func (r Request) IsHeartbeat() bool {
	return r.Object.Resource == "memberships" && r.Object.Subresource == "status"
}

// Mark is a place in an audit log, from which on requests count.
type Mark struct {
	path   string
	offset int64
}

// Now is a mark at the end of a log.
func Now(path string) (Mark, error) {
	info, err := os.Stat(path)
	if err != nil {
		return Mark{}, fmt.Errorf("marking an audit log: %w", err)
	}
	return Mark{path: path, offset: info.Size()}, nil
}

// Requests are those answered since, each once (a watch when it began), that all filters let through.
func (m Mark) Requests(filters ...func(Request) bool) (found []Request, err error) {
	log, err := os.Open(m.path)
	if err != nil {
		return nil, fmt.Errorf("reading an audit log: %w", err)
	}
	defer func() { _ = log.Close() }() // read only
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
