// SPDX-License-Identifier: Apache-2.0

// Command kind-node builds the node image of kind, kindest/node, where no image registry can be reached. It needs root,
// Debian 12, Debian's packages and the Go module proxy.
//
// Words. A *node image* is a file system with systemd, containerd, kubelet and kubeadm, which kind runs as a container. The
// *pods' images* are the images of the pods that every node runs: the control plane, kube-proxy, CoreDNS, the network, the
// storage. They lie in the store of the node's containerd, so that no node pulls an image. The *control planes' module* is
// internal/sandbox/binaries/module: it pins Kubernetes and etcd for the sandbox and for this image alike.
//
// Why it is so. Debian gives what is not Go: systemd, iptables, glibc. Everything else is built from Go modules, whose
// checksums Go verifies: nothing is downloaded and trusted as it is. Files and manifests of the image come from the kind
// module that the end-to-end suite imports, so kind and its node image always fit each other. kindnetd is not published as a
// module: programs/kindnet.go.txt does what a single-family cluster needs of it, without NetworkPolicies.
// Every step keeps its result in the work folder under a name that has its inputs, so a second run does only what changed.
package main
