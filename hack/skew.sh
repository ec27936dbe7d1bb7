#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Upgrades a fleet from an earlier version of Fairlead and back, while users write, and checks that nothing is lost (test/skew).
#   OLD=COMMIT             the earlier version: a commit, a tag or a branch; the commit before this one by default
#   PROVIDER=sandbox|kind  processes, or pods in clusters of kind, which hostctl init and hostctl join change
#   KEEP=1                 leave the clusters up
#   VERSION=VERSION        for kind: the version of the images, which `make skew` gives
#   KIND_NODE_IMAGE, KIND_OTHER_NODE_IMAGE  for kind: as for make e2e
set -eu

cd "$(dirname "$0")/.."

if ! old=$(git rev-parse --quiet --verify --short=12 "${OLD:-HEAD^}^{commit}"); then
  echo "OLD=${OLD:-HEAD^} names no commit of this clone. In a shallow clone, run git fetch --unshallow." >&2
  exit 2
fi
provider=${PROVIDER:-sandbox}
if [ "$provider" = kind ]; then
  KIND_NODE_IMAGE=${KIND_NODE_IMAGE:-$(hack/kind-image.sh)}
  export KIND_NODE_IMAGE
  # The command skew checks the same, but programs and images take minutes.
  go run ./test/e2e/provider/kindclusters/check -name fairlead-skew
fi
folder=$PWD/_artifacts/skew/$old
if [ ! -d "$folder" ]; then
  echo "• building $old" >&2
  rm -rf "$folder.part"
  git clone --quiet --shared --no-checkout . "$folder.part"
  git -C "$folder.part" checkout --quiet --detach "$old"
  env -u VERSION -u MAKEFLAGS make -C "$folder.part" build >&2
  mv "$folder.part" "$folder"
fi
if [ "$provider" = kind ]; then
  arch=$(go env GOARCH)
  [ -d "$folder/_artifacts/images" ] || env -u VERSION -u MAKEFLAGS make -C "$folder" images ARCH="$arch" >&2
  ARCH=$arch hack/images.sh
  CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags '-s -w' -o "$folder/_artifacts/images/pod" ./test/e2e/pod
fi
go build -o bin/skew ./test/skew
exec bin/skew -provider "$provider" -old "$folder/bin" -new bin ${KEEP:+-keep}
