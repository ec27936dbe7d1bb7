#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of one of the programs pinned in hack/tools, building it first when it is not there yet.
# The name carries a digest of the pins and of the Go release, so a raised version is never mistaken for the old one.
#
# Usage: hack/tool.sh controller-gen|golangci-lint|govulncheck
set -eu

cd "$(dirname "$0")/.."
root=$PWD

case ${1:-} in
controller-gen) package=sigs.k8s.io/controller-tools/cmd/controller-gen ;;
golangci-lint) package=sigs.k8s.io/kube-api-linter/cmd/golangci-lint-kube-api-linter ;;
govulncheck) package=golang.org/x/vuln/cmd/govulncheck ;;
*)
	echo "hack/tool.sh: no tool called '${1:-}'; there are controller-gen, golangci-lint and govulncheck" >&2
	exit 2
	;;
esac

digest=$({ go env GOVERSION; cat hack/tools/go.mod hack/tools/go.sum; } | git hash-object --stdin | cut -c1-12)
path=bin/tools/$1-$digest

if [ ! -x "$path" ]; then
	echo "• building $1, once per version$([ "$1" != golangci-lint ] || echo '; this takes two to four minutes')" >&2
	mkdir -p bin/tools
	# A name of its own until it is whole: an interrupted or a second build never leaves half a program under the real one.
	partial=$path.$$
	trap 'rm -f "$root/$partial"' EXIT
	# A build that fails says so by itself; flags of the caller are for the product, not for the tools.
	(cd hack/tools && GOFLAGS=-buildvcs=false GOOS='' GOARCH='' CGO_ENABLED=0 go build -trimpath -o "$root/$partial" "$package")
	mv "$partial" "$path"
	# Builds of older pins are of no use any more.
	find bin/tools -maxdepth 1 -type f -name "$1-*" ! -name "$1-$digest" -mmin +60 -exec rm -f {} +
	echo "✓ $path" >&2
fi
echo "$root/$path"
