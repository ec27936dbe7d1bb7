// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
	testingclock "k8s.io/utils/clock/testing"
)

func TestTheCertificateOfTheWebhooksFollowsItsFiles(t *testing.T) {
	dir := t.TempDir()
	now := testingclock.NewFakePassiveClock(time.Now())
	p := NewFiles(dir, now)
	if _, err := p.Get(nil); err == nil {
		t.Fatal("a certificate out of an empty folder")
	}
	name := func() string {
		t.Helper()
		c, err := p.Get(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c.Leaf.Subject.CommonName[:len("first")]
	}
	lay(t, dir, "first")
	if got := name(); got != "first" {
		t.Errorf("at first %s", got)
	}
	lay(t, dir, "other")
	if got := name(); got != "first" {
		t.Errorf("the files are read for every connection: %s", got)
	}
	now.SetTime(now.Now().Add(checkInterval))
	if err := os.Truncate(filepath.Join(dir, "tls.key"), 0); err != nil {
		t.Fatal(err)
	}
	if got := name(); got != "first" {
		t.Errorf("with half a pair %s", got)
	}
	lay(t, dir, "other")
	if got := name(); got != "other" {
		t.Errorf("once it was replaced %s", got)
	}
}

func lay(t *testing.T, dir, name string) {
	t.Helper()
	crt, key, err := cert.GenerateSelfSignedCertKey(name, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{"tls.crt": crt, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(dir, file), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
