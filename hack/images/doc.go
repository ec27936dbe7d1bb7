// SPDX-License-Identifier: Apache-2.0

// Command images builds the container images of Fairlead: manager, collector and hostctl, each for linux/amd64 and
// linux/arm64. It needs Go and nothing else: no container engine, no Dockerfile, no base image.
//
// An image is one layer on an empty base: a static binary, the CA certificates that Mozilla trusts (from the module
// golang.org/x/crypto/x509roots/fallback), a passwd file for the user that the binary runs as, and an SBOM of the
// modules that the binary was built from.
//
// Why it is so: an empty base has no shell and no package to patch, and the image follows from the commit alone. The same
// commit and version give the same digest on every machine: files have one owner and the commit's time, and binaries are
// built with -trimpath and without VCS stamps. So everyone can check a published image by building it again.
package main
