#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Kills the manager and the collector at every client call of every scenario of test/faults and of some random histories,
# and compares the end state with the model. It takes about three quarters of an hour.
#   SEED=N      seed of the random histories; 1 by default
#   FOCUS=REGEX only the tests whose name matches, as in go test -run
set -eu

cd "$(dirname "$0")/.."

mkdir -p bin
go test -c -o bin/faults.test ./test/faults
cd test/faults
# Run the test binary itself: go test would hold its progress back until the end.
CRASH=all SEED="${SEED:-1}" exec ../../bin/faults.test -test.timeout 3h -test.run "${FOCUS:-MayDie}"
