// SPDX-License-Identifier: Apache-2.0

// Package install installs the host part into a cluster, and removes it.
//
// Words. The *host part* is everything that runs or is configured on the host: CRDs, roles, the manager, its webhooks. Package
// manifests renders it. The *record* is ConfigMap fairlead-system/hostctl-init: the version that was installed last, and the values
// that were given. A later installation without values takes them from there. To *prune* is to delete objects that an earlier
// installation applied and the present one does not have.
//
// Why it is so.
//
// Objects are applied server-side, under a field manager of their own. So changes of other clients to other fields stay, and an
// installation that changes nothing writes nothing. Prune finds objects by that field manager, and needs no list of names.
//
// All refusals come before the first write, except the one of Pod Security: the API server judges a pod only in its namespace, with
// its account. So that check comes before the Deployment is applied.
//
// An installation ends when the API server gets the webhooks' answers, and not when the pods are ready. Between the two lie the
// Service, the network, and the certificate that the manager writes into the webhook configurations. A wrapper that is created as a
// dry run has to be accepted, and another has to be refused by the webhook.
//
// Uninstall removes the webhooks first. While they are there and no manager runs, no client can remove the finalizer of a wrapper. CRDs,
// wrappers, credentials, the key of the seals, the key of the history and the record stay, unless the caller asks to delete the wrappers.
package install
