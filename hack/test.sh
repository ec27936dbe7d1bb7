#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Unit and integration tests of the whole tree, without the end-to-end suite, which hack/e2e.sh runs.
# The timeout is per package and generous on purpose: the first package that needs control planes builds them.
set -eu

cd "$(dirname "$0")/.."

packages=$(go list ./... | grep -v -e '/test/e2e$' -e '/test/e2e/')
# Images, manifests and the node image are modules of their own: the root module does not need their libraries.
(cd hack/images && go test ./...)
(cd hack/manifests && go test ./...)
(cd hack/kind-node && go test ./...)
# Test binaries of a few packages start API servers: more than two at once would measure the machine, not the code.
# shellcheck disable=SC2086 # one word per package
exec go test -p 2 -timeout "${TIMEOUT:-45m}" $packages
