#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Generates the deep copies in apis/ and the CRDs in config/crd from the Go types, and the chart's copies from config/.
# The script writes to a temporary folder first and copies at the end. So an error in a type leaves the present files
# unchanged.
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
# Remove the CRDs of kinds that do not exist any more. kustomization.yaml is written by hand, so it stays.
for old in config/crd/*_*.yaml; do
	[ -e "$new/crd/${old##*/}" ] || rm -f "$old"
done
cp "$new"/crd/*.yaml config/crd/

(cd hack/manifests && go run . copy)
