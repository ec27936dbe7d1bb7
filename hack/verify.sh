#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Checks what no reviewer should have to check: generated files equal the output of their generators, modules are tidy,
# every file names its license, and all programs compile for every platform of a release. The checks read the work tree,
# also uncommitted files. All checks run before the script fails.
set -eu

cd "$(dirname "$0")/.."
failed=

# check WHAT REMEDY COMMAND… passes if COMMAND succeeds and prints nothing to stdout. Else it prints WHAT, the output
# and REMEDY.
check() {
	what=$1 remedy=$2
	shift 2
	if said=$("$@") && [ -z "$said" ]; then
		echo "✓ $what"
		return
	fi
	echo "✗ $what" >&2
	[ -z "$said" ] || echo "$said" | sed 's/^/    /' >&2
	echo "  → $remedy" >&2
	failed=yes
}

# files PATTERN… prints the names of matching files in the work tree, also of untracked files, but not of ignored ones.
files() {
	git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do
		[ ! -f "$file" ] || echo "$file"
	done
}

generated() {
	files 'apis/*/zz_generated.*' 'config/crd/*.yaml' 'charts/fairlead/templates/copy-*' | while read -r file; do
		echo "$(git hash-object "$file") $file"
	done
}

stale_files() {
	before=$(mktemp) after=$(mktemp)
	generated >"$before"
	hack/generate.sh >&2 || return 1
	generated >"$after"
	diff "$before" "$after" | sed -n 's/^[<>] [0-9a-f]* //p' | sort -u
	rm -f "$before" "$after"
}

without_license() {
	files '*.go' '*.go.txt' '*.sh' '*.yaml' '*.yml' 'go.mod' '*/go.mod' Makefile .ci/run .gitattributes |
		# Test data has no license line, because tests compare it byte for byte with the output of programs.
		grep -v -e '/testdata/.*\.ya\?ml$' |
		while read -r file; do
			head -n 5 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$file"
		done
}

unformatted() {
	files '*.go' | xargs gofmt -l -s
}

untidy() {
	files go.mod '*/go.mod' | while read -r mod; do
		(cd "$(dirname "$mod")" && go mod tidy -diff >/dev/null) || echo "$mod"
	done
}

replaced() {
	go mod edit -json | sed -n 's/.*"Replace": \[.*/go.mod/p'
}

unknown_tests() {
	grep -h -o -E '`(Test|Fuzz)[A-Za-z0-9]+`' docs/guarantees.md SECURITY.md | tr -d '`' | sort -u | while read -r test; do
		git grep -q --untracked "^func $test(" -- '*_test.go' || echo "$test"
	done
}

long_lines() {
	LC_ALL=C.UTF-8 grep -n -o -E '^[^|].{160,}' docs/design.md docs/guarantees.md | cut -c 1-80
}

builds() {
	for arch in amd64 arm64; do
		CGO_ENABLED=0 GOOS=linux GOARCH=$arch go build ./... >&2 || return 1
	done
	# Users run hostctl on laptops. Only its command sandbox needs Linux. These are the other platforms of hack/release.
	for platform in darwin/amd64 darwin/arm64 windows/amd64; do
		CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} go build -o /dev/null ./cmd/hostctl >&2 || return 1
	done
}

# The chart and the kustomizations in config/ have to give the same objects.
compare_manifests() {
	(cd hack/manifests && go run . check)
}

# Lists the packages without doc.go, in the root module and in the other modules.
without_doc() {
	files '*.go' | grep -v /testdata/ | sed 's,/[^/]*$,,' | sort -u | while read -r folder; do
		[ -f "$folder/doc.go" ] || echo "$folder"
	done
}

vets() {
	go vet ./... >&2
}

check 'generated files equal the output of their generators' 'the files above are regenerated now: read their difference and commit them. If no file is named, correct the errors above; make generate prints them again' stale_files
check 'every source file names its license' 'begin each with "SPDX-License-Identifier: Apache-2.0" in a comment' without_license
check 'Go files are formatted' 'run: gofmt -s -w on the files above' unformatted
check 'every module is tidy' 'run go mod tidy in the folder of each go.mod above; go mod tidy -diff shows what it changes' untidy
check 'the root module replaces nothing' 'go install …/cmd/hostctl@VERSION refuses a module with replace directives: move the packages that need them into a module of their own' replaced
check 'the tests that docs/guarantees.md and SECURITY.md name exist' 'replace the names above by those of the tests that check these promises now' unknown_tests
check 'docs/design.md and docs/guarantees.md have no line over 160 characters outside tables' 'break the lines above' long_lines
check 'every package has a doc.go' 'say in doc.go what the package holds, and define its words' without_doc
check 'config/default and charts/fairlead give the same objects' 'correct the objects that the lines above name; make generate writes the copies' compare_manifests
check 'everything builds for linux/amd64 and linux/arm64, and hostctl for darwin and windows' 'correct the errors above' builds
check 'go vet finds nothing' 'correct the errors above' vets

if [ -n "$failed" ]; then
	echo "make verify: the checks marked ✗ above failed" >&2
	exit 1
fi
