// SPDX-License-Identifier: Apache-2.0

// Package certificate serves and renews the TLS certificate of the webhooks' server. Files reads the certificate from a
// folder and serves it. Rotate makes the leader create and renew the certificate when the manager runs in a cluster.
//
// In a cluster the certificate reaches the server in three steps. The leader writes it into a Secret. The kubelets copy the
// Secret into the folder of each pod. Every replica of the manager reads its folder.
//
// Why it is so: all replicas serve the same certificate, and a replica that is not the leader needs no permission to read
// the Secret. docs/adr/0019-cert-controller-renews-the-webhooks-certificate.md has further reasons.
package certificate
