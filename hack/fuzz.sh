#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Fuzzes every target in the tree, one after the other, each for TIME (30s by default).
# The script finds the fuzz targets itself, so a new target needs no entry in a list.
set -eu

cd "$(dirname "$0")/.."

folders=$(git grep -l --untracked '^func Fuzz' -- '*_test.go' | xargs -r -n 1 dirname | sort -u)
ran=0
for folder in $folders; do
	listed=$(go test -list '^Fuzz' "./$folder")
	for target in $(echo "$listed" | grep '^Fuzz'); do
		echo "• $target in $folder for ${TIME:-30s}"
		go test -run '^$' -fuzz "^$target\$" -fuzzminimizetime 10x -fuzztime "${TIME:-30s}" "./$folder"
		ran=$((ran + 1))
	done
done
echo "✓ $ran fuzz targets ran"
