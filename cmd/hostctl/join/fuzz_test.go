// SPDX-License-Identifier: Apache-2.0

package join

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"
)

// A person writes the kubeconfig, so it can have any content. Member must return a configuration, or an error that names the file.
func FuzzKubeconfig(f *testing.F) {
	f.Add([]byte(kubeconfig))
	f.Add([]byte("apiVersion: v1\nkind: Config\nclusters: [{name: a}]\ncurrent-context: a"))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		flags := genericclioptions.NewConfigFlags(true)
		flags.KubeConfig = &file
		c := &Connections{host: flags, clusterKubeconfig: file}
		cfg, err := c.Member()
		if err == nil && cfg.Host == "" || err != nil && !strings.HasPrefix(err.Error(), "reading the cluster's kubeconfig: ") {
			t.Errorf("%v %v", cfg, err)
		}
		cfg, _, err = c.Host()
		if err == nil && cfg.Host == "" || err != nil && !strings.HasPrefix(err.Error(), "reading the host's kubeconfig: ") {
			t.Errorf("%v %v", cfg, err)
		}
	})
}
