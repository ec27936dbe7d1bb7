#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The end-to-end suite.
#   PROVIDER=sandbox  the provider of the fleet
#   FOCUS=REGEX       only the specs with a matching sentence; a FOCUS that matches no spec fails
#   KEEP=1            use the fleet that an earlier run with KEEP=1 left, and leave it running afterwards
# The suite reads provider and keep from FAIRLEAD_E2E_PROVIDER and FAIRLEAD_E2E_KEEP.
set -eu

cd "$(dirname "$0")/.."

export FAIRLEAD_E2E_PROVIDER="${PROVIDER:-sandbox}" FAIRLEAD_E2E_KEEP="${KEEP:-}"

# -v lets ginkgo's progress and its summary through while it runs; -count=1 because Go cannot cache results that depend on a fleet.
# Go's timeout is a minute longer than ginkgo's, so that ginkgo reports where the suite hung.
set -- -v -count=1 -timeout 61m ./test/e2e -ginkgo.timeout=60m -ginkgo.no-color -ginkgo.fail-on-empty
[ -z "${FOCUS:-}" ] || set -- "$@" "-ginkgo.focus=$FOCUS"

exec go test "$@"
