#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Generates from the Go types the deep copies in apis/ and the CRDs in config/crd, and from config/ the copies in the chart.
# All files are written to a temporary folder first and then copied, so that a type that cannot be generated leaves the
# last good files in place.
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
# Remove the CRD of a kind that no longer exists. kustomization.yaml is written by hand and stays.
for old in config/crd/*_*.yaml; do
	[ -e "$new/crd/${old##*/}" ] || rm -f "$old"
done
cp "$new"/crd/*.yaml config/crd/

(cd hack/manifests && go run . copy)
