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

// checkInterval is the time for which Files serves a certificate before it reads the folder again. So Files begins to serve
// a renewed certificate within this time.
const checkInterval = time.Minute

// Files serves the certificate in the files tls.crt and tls.key of a folder. It reads the files when a TLS connection
// begins, unless it has read them within checkInterval. Files does not watch the folder, because a watch can fail. By
// default the kernel allows a user 128 inotify instances, and several control planes on one machine use them up.
type Files struct {
	dir   string
	clock clock.PassiveClock

	mu        sync.Mutex
	loaded    *tls.Certificate
	lastCheck time.Time
}

// NewFiles returns a Files for a folder. The files need not exist yet; until they exist, TLS connections fail.
func NewFiles(dir string, clk clock.PassiveClock) *Files { return &Files{dir: dir, clock: clk} }

// Get has the signature of GetCertificate in tls.Config, and returns the certificate. If it cannot read the files, it
// returns the certificate that it read last, or an error if it has read none.
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
