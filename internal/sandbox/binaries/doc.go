// SPDX-License-Identifier: Apache-2.0

// Package binaries has the programs of a local control plane: it builds them once from an embedded Go module and
// keeps them in the user's cache, so that a sandbox needs Go and nothing else: no Docker, no root, no download site
// beside the module proxy.
//
// Why it is so. The module sits beside this package as module/*.txt, because go:embed does not reach into another
// module, and it is a module of its own because Kubernetes needs two dozen replace directives that the product's go.mod
// must not have. A build lands in a folder named after everything that decides what comes out (files, flags, Go version,
// platform), a program at a time under a temporary name and then renamed: a program that is there is whole, and an
// interrupted build goes on where it was. Who already has control planes (KUBEBUILDER_ASSETS) keeps them; only what is
// missing there is built.
package binaries
