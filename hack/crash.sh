#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Kills the manager and the collector at each call of the Kubernetes API that they send in the scenarios of test/faults
# and in some random histories. Compares the members' state afterwards with a model. It takes two to three
# hours on two cores, and more beside other work.
#   SEED=N      seed of the random histories; 1 by default
#   FOCUS=REGEX only the tests whose name matches, as in go test -run
set -eu

cd "$(dirname "$0")/.."

mkdir -p bin
go test -c -o bin/faults.test ./test/faults
cd test/faults
# This runs the test binary itself, because `go test` would print the progress only at the end.
CRASH=all SEED="${SEED:-1}" exec ../../bin/faults.test -test.timeout 8h -test.run "${FOCUS:-MayDie|APartitionOfAMinuteHeals}"
