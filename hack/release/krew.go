// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

const repository = "https://github.com/fairlead-dev/fairlead"

// krewManifest returns the manifest by which krew installs hostctl as the plugin `kubectl fairlead`. krew links only the plugin's program
// into a folder on PATH, so the user has to link the program that completes arguments.
func krewManifest(r *release, sums map[string]string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `# SPDX-License-Identifier: Apache-2.0
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: fairlead
spec:
  version: %[1]s
  homepage: %[2]s
  shortDescription: Distribute objects from one host cluster to many
  description: |
    Installs Fairlead into a host cluster, joins member clusters to it, and
    shows, previews and approves what the host distributes to its members.
  caveats: |
    krew does not install the completion of kubectl. For it, link the program
    of this plugin's folder into a folder of your PATH (not on Windows):
      ln -s "${KREW_ROOT:-$HOME/.krew}/store/fairlead/%[1]s/%[3]s" "${KREW_ROOT:-$HOME/.krew}/bin/"
  platforms:
`, r.version, repository, completeFile)
	for _, p := range platforms {
		fmt.Fprintf(&b, `  - selector:
      matchLabels:
        os: %s
        arch: %s
    uri: %s/releases/download/%s/%s
    sha256: %s
    bin: %s
`, p.os, p.arch, repository, r.version, r.archive(p), sums[r.archive(p)], p.program())
	}
	return []byte(b.String())
}
