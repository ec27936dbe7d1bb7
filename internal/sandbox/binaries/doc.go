// SPDX-License-Identifier: Apache-2.0

// Package binaries provides the programs of a local control plane. It builds them once from an embedded Go module, and keeps them in the user's
// cache. So a sandbox needs only Go and a Go module proxy, and neither Docker, nor root, nor another download site. The package also
// uses programs that the user has for envtest, if they have the minor version that the module would build. It looks first in the folder
// $KUBEBUILDER_ASSETS, then in its own earlier builds, and then in the downloads of setup-envtest.
//
// Why it is so:
//
//   - The module is a separate one: Kubernetes needs two dozen replace directives, which the product's go.mod must not have. Its files are
//     here as module/*.txt, because go:embed cannot embed files of another module.
//   - The folder of a build is named after a digest of all its inputs: files, flags, Go version and platform.
//   - Each program is built under a temporary name and then renamed. So every program in the folder is complete, and an
//     interrupted build goes on where it stopped.
//   - The progress comes from Go: `go list` names the packages of a program and tells which of them are in Go's build cache, and
//     `go build -v` prints each package that it compiles.
package binaries
