#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the unit and integration tests of the whole tree. hack/e2e.sh runs the end-to-end suite.
# The timeout for each package is long, because the first package that needs control planes builds them.
set -eu

cd "$(dirname "$0")/.."

# The packages that take minutes come first. A long package that began last would run alone at the end.
slow='./test/faults ./internal/join ./internal/push ./internal/collect ./test/install ./controllers/federated'
# shellcheck disable=SC2086 # one word per package
packages=$({ go list $slow; go list ./...; } | awk '!seen[$0]++' | grep -v -e '/test/e2e$' -e '/test/e2e/')
# These are modules of their own, because the root module does not need their libraries: images, manifests, the rules and
# dashboards of monitoring, and the node image.
(cd hack/images && go test ./...)
(cd hack/manifests && go test ./...)
# -count=1, because Go reuses a result although rules, dashboards or documents outside the module have changed.
(cd hack/monitoring && go test -count=1 ./...)
(cd hack/kind-node && go test ./...)
# Test binaries of some packages start API servers. With more than two at once, tests would fail because the machine is
# too slow.
# shellcheck disable=SC2086 # one word per package
exec go test -p 2 -timeout "${TIMEOUT:-45m}" $packages
