#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the end-to-end suite.
#   PROVIDER=sandbox|kind  the provider of the fleet: processes without kubelets, or clusters of kind
#   FOCUS=REGEX            only the specs with a matching sentence; a FOCUS that matches no spec fails
#   FLEETS=N               N processes of ginkgo share the specs, and each has a fleet of its own. By default 2 with the sandbox,
#                          because specs wait for most of their time, and 1 with a FOCUS. Always 1 with kind
#   KEEP=1                 use the fleets that an earlier run with KEEP=1 left, as many as FLEETS says, and leave them running
#   VERSION=VERSION        for kind: the version of the images, which `make e2e` gives
#   KIND_NODE_IMAGE=NAME   for kind: the image of the nodes; by default the image that `make kind-node` builds
#   KIND_OTHER_NODE_IMAGE=NAME  for kind: the image of the node of member-3, for example of another version of Kubernetes
# The suite gets PROVIDER and KEEP as FAIRLEAD_E2E_PROVIDER and FAIRLEAD_E2E_KEEP. FAIRLEAD_E2E_SANDBOX is the name of the first
# fleet's sandbox, by default e2e. The second fleet is NAME-2. `hostctl sandbox down --name NAME` takes a kept one down.
set -eu

cd "$(dirname "$0")/.."

export FAIRLEAD_E2E_PROVIDER="${PROVIDER:-sandbox}" FAIRLEAD_E2E_KEEP="${KEEP:-}"

if [ "$FAIRLEAD_E2E_PROVIDER" = kind ]; then
	KIND_NODE_IMAGE=${KIND_NODE_IMAGE:-$(hack/kind-image.sh)}
	export KIND_NODE_IMAGE
	# The suite checks the same, but the images take minutes.
	go run ./test/e2e/provider/kindclusters/check -name fairlead-e2e ${KEEP:+-keep}
	# The images of this work tree, for the architecture of the nodes, and the program of the test pods.
	ARCH=$(go env GOARCH) hack/images.sh
	CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags '-s -w' -o _artifacts/images/pod ./test/e2e/pod
fi

case $FAIRLEAD_E2E_PROVIDER,${FOCUS:-} in
sandbox,) fleets=${FLEETS:-2} ;;
sandbox,*) fleets=${FLEETS:-1} ;;
*) fleets=1 ;;
esac

set -- "--procs=$fleets" --timeout=60m --no-color --fail-on-empty
[ -z "${FOCUS:-}" ] || set -- "$@" "--focus=$FOCUS"

# go.mod pins the library, so this is the command of the same version.
exec go run github.com/onsi/ginkgo/v2/ginkgo "$@" ./test/e2e
