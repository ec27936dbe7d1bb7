// SPDX-License-Identifier: Apache-2.0

// Command kind-node builds kindest/node, the node image of kind, on a machine that cannot reach an image registry. It needs Debian 12, root, Debian's
// packages and a Go module proxy.
//
// Words:
//
//   - A *node image* is a file system with systemd, containerd, kubelet and kubeadm, which kind runs as a container.
//   - The *pods' images* are the images of the pods that every node runs: the control plane, kube-proxy, CoreDNS, the network, the
//     storage. They are in the store of the node's containerd from the start, so no node has to pull an image.
//   - The *control planes' module* is internal/sandbox/binaries/module. It sets the versions of Kubernetes and etcd, both for the
//     sandbox and for this image.
//
// Programs that are not written in Go come from Debian: systemd, iptables, glibc. All others are built from Go modules, whose
// checksums Go verifies. So no downloaded program runs unchecked. Files and manifests of the image come from the kind module that the
// end-to-end suite imports, so kind and its node image always fit each other. kindnetd is not published as a module;
// programs/kindnet.go.txt replaces it, for clusters with one IP family and without NetworkPolicies.
//
// Every step keeps its result in the work folder, under a name that depends on the step's inputs. A second run repeats only the steps whose inputs
// have changed.
package main
