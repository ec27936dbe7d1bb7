// SPDX-License-Identifier: Apache-2.0

// Package certificate holds the certificate of the webhooks' server. Files serves it from a folder. Rotate makes and
// renews it in a cluster.
//
// Why it is so: in a cluster the certificate reaches the server in three steps. The leader writes it into a Secret, the
// kubelets copy the Secret into the folder of each pod, and every replica reads its folder. So all replicas serve the
// same certificate, and a replica that does not lead needs no permission for it.
// docs/adr/0019-cert-controller-renews-the-webhooks-certificate.md has the reasons.
package certificate
