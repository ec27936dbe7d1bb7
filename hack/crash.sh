#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Kills the manager and the collector at every client call of every scenario of test/faults, and some histories that are
# made up by chance, and compares what is left with the model. It takes about half an hour.
#   SEED=N      which histories are made up; 1 when not said
#   FOCUS=REGEX only the tests whose name matches, as in go test -run
set -eu

cd "$(dirname "$0")/.."

mkdir -p bin
go test -c -o bin/faults.test ./test/faults
cd test/faults
# The test binary itself, since go test would hold its progress back until the end.
CRASH=all SEED="${SEED:-1}" exec ../../bin/faults.test -test.timeout 3h -test.run "${FOCUS:-MayDie}"
