#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the end-to-end suite.
#   PROVIDER=sandbox|kind  the provider of the fleet: processes without kubelets, or clusters of kind
#   FOCUS=REGEX            only the specs with a matching sentence; a FOCUS that matches no spec fails
#   KEEP=1                 use the fleet that an earlier run with KEEP=1 left, and leave it running afterwards
#   VERSION=VERSION        for kind: the version of the images, which `make e2e` gives
#   KIND_NODE_IMAGE=NAME   for kind: the image of the nodes; by default the image that `make kind-node` builds
# The suite gets PROVIDER and KEEP as FAIRLEAD_E2E_PROVIDER and FAIRLEAD_E2E_KEEP.
set -eu

cd "$(dirname "$0")/.."

export FAIRLEAD_E2E_PROVIDER="${PROVIDER:-sandbox}" FAIRLEAD_E2E_KEEP="${KEEP:-}"

if [ "$FAIRLEAD_E2E_PROVIDER" = kind ]; then
	pinned=$(sed -n 's,^.*k8s.io/kubernetes \(v[0-9.]*\)$,\1,p' internal/sandbox/binaries/module/go.mod.txt)
	export KIND_NODE_IMAGE="${KIND_NODE_IMAGE:-kindest/node:$pinned-local}"
	# The images of this work tree, for the architecture of the nodes, and the program of the test pods.
	ARCH=$(go env GOARCH) hack/images.sh
	CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags '-s -w' -o _artifacts/images/pod ./test/e2e/pod
fi

# -v prints ginkgo's progress and summary while the suite runs. -count=1 is set because Go must not reuse a result that
# depends on a fleet. Go's timeout is a minute longer than ginkgo's, so that ginkgo can report the spec that hangs.
set -- -v -count=1 -timeout 61m ./test/e2e -ginkgo.timeout=60m -ginkgo.no-color -ginkgo.fail-on-empty
[ -z "${FOCUS:-}" ] || set -- "$@" "-ginkgo.focus=$FOCUS"

go test "$@"
