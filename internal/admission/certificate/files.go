// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"crypto/tls"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// checkInterval is the longest time until Files serves a renewed certificate.
const checkInterval = time.Minute

// Files serves the certificate in the files tls.crt and tls.key of a folder. It reads the files from time to time and
// does not watch them. The kernel allows a user 128 inotify watchers by default, and several control planes on one
// machine use them up. The manager must not depend on the number that is left.
type Files struct {
	dir   string
	clock clock.PassiveClock

	mu        sync.Mutex
	loaded    *tls.Certificate
	lastCheck time.Time
}

// NewFiles serves the certificate of a folder. The files may appear later. Until then connections fail.
func NewFiles(dir string, clk clock.PassiveClock) *Files { return &Files{dir: dir, clock: clk} }

// Get has the signature of GetCertificate in tls.Config.
func (p *Files) Get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loaded != nil && p.clock.Since(p.lastCheck) < checkInterval {
		return p.loaded, nil
	}
	cert, err := tls.LoadX509KeyPair(filepath.Join(p.dir, "tls.crt"), filepath.Join(p.dir, "tls.key"))
	switch {
	case err == nil:
		p.loaded, p.lastCheck = &cert, p.clock.Now()
	case p.loaded == nil:
		return nil, fmt.Errorf("reading the webhooks' certificate in %s: %w", p.dir, err)
	}
	return p.loaded, nil // while the files are being replaced, the old certificate is still good
}
