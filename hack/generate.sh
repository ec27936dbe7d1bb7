#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Writes what follows from the Go types: the deep copies in apis/ and the CRDs in config/crd.
# Everything is made beside the tree first and moved in when all of it is there, so that a type that does not
# generate leaves the last good files where they were.
set -eu

cd "$(dirname "$0")/.."
generate=$(hack/tool.sh controller-gen)

new=$(mktemp -d)
trap 'rm -rf "$new"' EXIT

for package in apis/*/; do
	package=${package%/}
	"$generate" object:headerFile=hack/header.go.txt paths="./$package" output:object:dir="$new/$package"
done
"$generate" crd:generateEmbeddedObjectMeta=false,headerFile=hack/header.yaml.txt paths=./apis/... output:crd:dir="$new/crd"

for package in apis/*/; do
	package=${package%/}
	cp "$new/$package/zz_generated.deepcopy.go" "$package/"
done
mkdir -p config/crd
# A kind that is gone takes its CRD with it. kustomization.yaml is written by hand and stays.
for old in config/crd/*_*.yaml; do
	[ -e "$new/crd/${old##*/}" ] || rm -f "$old"
done
cp "$new"/crd/*.yaml config/crd/
