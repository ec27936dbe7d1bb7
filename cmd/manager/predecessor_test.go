// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"

	"github.com/fairlead-dev/fairlead/internal/filelock"
)

func TestAManagerWithoutAProofSaysThatItWaits(t *testing.T) {
	const uid = "3f1c2f0e-5c1f-4b7a-9a55-0a4f0f6b2c11"
	path := func(t *testing.T) string { return filepath.Join(t.TempDir(), "manager.lock") }
	for name, test := range map[string]struct {
		podUID       string
		lockFile     func(*testing.T) string
		proof, words string
	}{
		"in a pod":                {podUID: uid, proof: "pod-" + uid},
		"with a lock file":        {lockFile: path, proof: "lock-"},
		"with neither":            {words: "neither --pod-uid"},
		"with both":               {podUID: uid, lockFile: path, words: "give only one"},
		"with a uid that is none": {podUID: "$(POD_UID)", words: "is no uid of a pod"},
		"with a folder":           {lockFile: func(t *testing.T) string { t.Helper(); return t.TempDir() }, words: "is a directory"},
		"with a file that is locked": {lockFile: func(t *testing.T) string {
			t.Helper()
			file := path(t)
			held, err := filelock.Try(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = held.Release() })
			return file
		}, words: "another process holds the lock"},
	} {
		t.Run(name, func(t *testing.T) {
			file := ""
			if test.lockFile != nil {
				file = test.lockFile(t)
			}
			var logged strings.Builder
			proof := proofOfPredecessor(test.podUID, file, funcr.New(func(_, args string) { logged.WriteString(args) }, funcr.Options{}))
			if got := proof.String(); !strings.HasPrefix(got, test.proof) || test.proof == "" && got != "" {
				t.Errorf("the proof is %q", got)
			}
			if test.words == "" && logged.Len() > 0 || !strings.Contains(logged.String(), test.words) {
				t.Errorf("logged: %s", &logged)
			}
		})
	}
}
