#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Builds the node image of kind from Debian packages and Go modules, and loads it into Docker. It needs root and Debian 12.
#   CP=DIR              a folder with built kube-apiserver, kube-controller-manager, kube-scheduler and etcd, which are not built again
#   KUBERNETES=VERSION  a release of Kubernetes, for example v1.35.4; that of the sandbox by default
#   WORK=DIR            where results stay; fairlead/kind-node in the user's cache folder by default
set -eu

cd "$(dirname "$0")/.."
root=$(pwd)

cd hack/kind-node
exec go run . -root "$root" -work "${WORK:-}" -control-planes "${CP:-}" -kubernetes "${KUBERNETES:-}"
