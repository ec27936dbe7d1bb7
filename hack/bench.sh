#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs the benchmark (test/bench) on a sandbox of its own: time, requests, CPU and memory of Fairlead.
#   OUT=F.json    also write the figures to F.json, for programs
#   WORKS=W1,W3   only these works: W1 to W7, far, trouble, rest, floor, and idle
#   PEER=kubefed  then measure KubeFed on the same kind of sandbox, and print both columns and their ratio
# OBJECTS=N     deliver N objects instead of 1000, as a trial: its figures cannot be compared with those of whole runs
#   PROFILE=1     leave CPU and heap profiles of the manager, and CPU profiles of API servers, in _artifacts/bench
set -eu

cd "$(dirname "$0")/.."

set --
[ -z "${OUT:-}" ] || set -- "$@" "-out=$OUT"
[ -z "${WORKS:-}" ] || set -- "$@" "-works=$WORKS"
[ -z "${PROFILE:-}" ] || set -- "$@" "-profiles=_artifacts/bench"
[ -z "${PEER:-}" ] || set -- "$@" "-peer=$PEER"
[ -z "${OBJECTS:-}" ] || set -- "$@" "-objects=$OBJECTS"

go build -o bin/bench ./test/bench
exec bin/bench "$@"
