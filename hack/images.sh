#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the container images of manager, collector and hostctl, for linux/amd64 and linux/arm64, without a container
# engine.
#   PUSH=REGISTRY/PREFIX  push them there, with the credentials of `docker login`
#   ARCH=amd64            only for this architecture
#   OUT=DIR               the folder to write to; _artifacts/images by default
#   VERSION=VERSION       the version of the images, which `make images` gives: that of the programs which `make build` builds
# Files in the images carry the time of the commit, so the same commit gives the same digests.
set -eu

cd "$(dirname "$0")/.."

VERSION=${VERSION:?is not set: run make images}
commit=$(git rev-parse HEAD)
if [ -n "$(git status --porcelain)" ]; then
	case $VERSION in
	*.dirty) ;;
	*) VERSION="$VERSION.dirty" ;; # the caller gave a version, and this is not the commit that it names
	esac
	echo "make images: the work tree differs from commit $commit; the version of the images is $VERSION" >&2
	commit="$commit.dirty"
fi
out=${OUT:-_artifacts/images}
mkdir -p "$(dirname "$out")"
out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out")
root=$(pwd)

cd hack/images
go run . -root "$root" -out "$out" -push "${PUSH:-}" -arch "${ARCH:-amd64,arm64}" \
	-version "$VERSION" -commit "$commit" -time "$(git log -1 --format=%ct)"
echo "✓ $out: oci/ is an OCI layout of all images; to load one: docker load -i $out/manager-linux-amd64.tar" >&2
