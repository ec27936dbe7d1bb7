// SPDX-License-Identifier: Apache-2.0

// Package install installs the host part into a cluster, and removes it.
//
// Words. The *host part* is everything that runs or is configured on the host: CRDs, roles, the manager, its webhooks. Package manifests
// renders it. The *record* is ConfigMap fairlead-system/hostctl-init: the version that was installed last, and the values that the user
// gave. A later installation without --values takes the values from the record. To *prune* is to delete objects that an earlier
// installation applied and the present one does not have.
//
// Why it is so.
//
// An installation applies objects server-side, under a field manager of its own. So fields that only other clients have
// set stay as they are, and an installation that changes nothing writes nothing. Prune finds objects by that field
// manager, and needs no list of names.
//
// An installation makes all checks before its first write, except the check of Pod Security. That check needs the pod's namespace and
// account, so the installation makes it just before it applies the Deployment.
//
// An installation ends when the webhooks answer the API server. It is not enough that the pods are ready: the Service, the
// network, or the certificate in the webhook configurations can still be wrong. So the installation creates two test
// wrappers as dry runs. The webhooks must accept the first wrapper and refuse the second.
//
// Uninstall removes the webhook configurations before the manager. While they exist and no manager runs, the API server refuses every
// change of a wrapper, even the removal of the wrapper's finalizer. If the caller does not ask to delete the wrappers, Uninstall leaves
// CRDs, wrappers, credentials, the record, and two keys: the key of the seals, and the key that encrypts and signs revisions
// (v1alpha1.HistorySecret).
package install
