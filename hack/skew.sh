#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Upgrades a sandbox from an earlier version of Fairlead and back, while users write, and checks that nothing is lost (test/skew).
#   OLD=COMMIT  the earlier version: a commit, a tag or a branch; the commit before this one by default
#   KEEP=1      leave the sandbox up
set -eu

cd "$(dirname "$0")/.."

if ! old=$(git rev-parse --quiet --verify --short=12 "${OLD:-HEAD^}^{commit}"); then
  echo "OLD=${OLD:-HEAD^} names no commit of this clone. In a shallow clone, run git fetch --unshallow." >&2
  exit 2
fi
folder=$PWD/_artifacts/skew/$old
if [ ! -d "$folder" ]; then
  echo "• building $old" >&2
  rm -rf "$folder.part"
  mkdir -p "$folder.part"
  git archive "$old" | tar -x -C "$folder.part"
  time=$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y%m%d%H%M%S "$old")
  make -C "$folder.part" build VERSION="v0.0.0-dev.$time+$old" >&2
  mv "$folder.part" "$folder"
fi
go build -o bin/skew ./test/skew
exec bin/skew -old "$folder/bin" -new bin ${KEEP:+-keep}
