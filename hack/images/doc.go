// SPDX-License-Identifier: Apache-2.0

// Command images builds the container images of Fairlead: manager, collector and hostctl, each for linux/amd64 and
// linux/arm64. It needs Go and nothing else: no container engine, no Dockerfile, no base image.
//
// An image is one layer on an empty base. The layer has a static binary, the CA certificates that Mozilla trusts (from the module
// golang.org/x/crypto/x509roots/fallback), a passwd file for the user that runs the binary, and an SBOM of the modules in the
// binary.
//
// `images binary` builds one program for any platform, with its SBOM beside it. `make release` calls it, so the binaries of a
// release and those in the images are built in the same way.
//
// Why it is so: an empty base has no shell, and no packages that would need security updates. Everyone can check a published image
// by building it again, because the image depends on the commit and the version alone: files have a fixed owner and the commit's
// time, and binaries are built with -trimpath and without VCS stamps. So every machine builds an image with the same digest.
package main
