#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Prints the path of a program that hack/tools pins. Builds the program first if it is missing.
# The file's name has a digest of the pinned versions and of the Go release, so a new version gets a new name.
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
	# Build under another name, so that an interrupted build never leaves an incomplete program under the final name.
	partial=$path.$$
	trap 'rm -f "$root/$partial"' EXIT
	# The caller's GOFLAGS, GOOS and GOARCH are meant for Fairlead's programs, not for the tools.
	(cd hack/tools && GOFLAGS=-buildvcs=false GOOS='' GOARCH='' CGO_ENABLED=0 go build -trimpath -o "$root/$partial" "$package")
	mv "$partial" "$path"
	# Remove builds of older pins.
	find bin/tools -maxdepth 1 -type f -name "$1-*" ! -name "$1-$digest" -mmin +60 -exec rm -f {} +
	echo "✓ $path" >&2
fi
echo "$root/$path"
