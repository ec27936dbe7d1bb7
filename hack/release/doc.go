// SPDX-License-Identifier: Apache-2.0

// Command release builds all files of a release into one folder: archives of hostctl with their SBOMs, the images, the chart, the krew
// manifest and the checksums. It creates no tag and publishes nothing. `make release` runs it.
//
// The modules hack/images and hack/manifests build the binaries, the images and the chart, because they have the libraries for that.
// This command packs the results.
//
// Why it is so: everyone should be able to check a release by building it again. So the same commit and the same Go release have to give
// the same checksums: every archive has its files in a fixed order, with one owner and the commit's time. The command refuses a
// work tree with changes: its binaries could not be built again from any commit.
package main
