#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Prints the name of the node image that `make kind-node` builds: that of the control planes' Kubernetes.
set -eu

cd "$(dirname "$0")/.."

pinned=$(sed -n 's,^.*k8s.io/kubernetes \(v[0-9.]*\)$,\1,p' internal/sandbox/binaries/module/go.mod.txt)
echo "kindest/node:$pinned-local"
