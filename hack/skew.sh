#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Upgrades a sandbox from an earlier version of Fairlead and back, while users write, and checks that nothing is lost (test/skew).
#   OLD=COMMIT  the earlier version: a commit, a tag or a branch; the commit before this one by default
set -eu

cd "$(dirname "$0")/.."

old=$(git rev-parse --verify --short=12 "${OLD:-HEAD^}^{commit}")
folder=$PWD/_artifacts/skew/$old
if [ ! -x "$folder/bin/hostctl" ]; then
  echo "• building $old" >&2
  rm -rf "$folder"
  mkdir -p "$folder"
  git archive "$old" | tar -x -C "$folder"
  time=$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y%m%d%H%M%S "$old")
  make -C "$folder" build VERSION="v0.0.0-dev.$time+$old" >&2
fi
go build -o bin/skew ./test/skew
exec bin/skew -old "$folder/bin" -new bin
