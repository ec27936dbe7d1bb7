// SPDX-License-Identifier: Apache-2.0

// Package binaries provides the programs of a local control plane. It builds them once from an embedded Go module and
// keeps them in the user's cache. So a sandbox needs only Go and the module proxy: no Docker, no root, no other
// download site. If the user has programs of the same minor version for envtest, the package uses them. It takes those
// in the folder $KUBEBUILDER_ASSETS. If nothing is built yet, it also takes those that setup-envtest downloaded.
//
// Why it is so. The module's files are beside this package as module/*.txt, because go:embed does not reach into
// another module. It is a module of its own because Kubernetes needs two dozen replace directives, which the product's
// go.mod must not have. The folder of a build is named after all its inputs: files, flags, Go version and platform.
// Each program is built under a temporary name and then renamed. So every program in the folder is complete, and an
// interrupted build continues where it stopped. Go tells how far a build is: `go list` names the packages of a program
// and those in Go's build cache, and `go build -v` prints each package that it compiles.
package binaries
