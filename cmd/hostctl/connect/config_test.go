// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestAHostIsNeverAssumedAtLocalhost(t *testing.T) {
	const named = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}],
clusters: [{name: c, cluster: {server: "http://localhost:8080"}}]}`
	for name, test := range map[string]struct {
		kubeconfig string // "" for a file that does not exist
		fails      bool
	}{
		"there is no kubeconfig":            {"", true},
		"the kubeconfig names no cluster":   {"{apiVersion: v1, kind: Config}", true},
		"the kubeconfig names that address": {named, false},
		"another cluster without a context": {`{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: "https://c.example"}}]}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "kubeconfig")
			if test.kubeconfig != "" {
				if err := os.WriteFile(file, []byte(test.kubeconfig), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("KUBECONFIG", file)
			config, err := Config(Flags())
			if errors.Is(err, errNoCluster) != test.fails || err == nil != (config != nil) {
				t.Errorf("%v, %v", config, err)
			}
		})
	}
}
