#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# The end-to-end suite.
#   PROVIDER=sandbox  where the fleet comes from
#   FOCUS=REGEX       only the specs whose sentence matches; one that matches nothing is an error, not a success
#   KEEP=1            leave the fleet up afterwards, to look at it
# The suite reads provider and keep from FAIRLEAD_E2E_PROVIDER and FAIRLEAD_E2E_KEEP.
set -eu

cd "$(dirname "$0")/.."

export FAIRLEAD_E2E_PROVIDER="${PROVIDER:-sandbox}" FAIRLEAD_E2E_KEEP="${KEEP:-}"

# -v lets ginkgo's progress and its summary through while it runs; -count=1 because a fleet is no cacheable input.
# Go ends the program a minute after ginkgo should have ended the suite, so that it is ginkgo that says where it hung.
set -- -v -count=1 -timeout 61m ./test/e2e -ginkgo.timeout=60m -ginkgo.no-color -ginkgo.fail-on-empty
[ -z "${FOCUS:-}" ] || set -- "$@" "-ginkgo.focus=$FOCUS"

exec go test "$@"
