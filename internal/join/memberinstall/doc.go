// SPDX-License-Identifier: Apache-2.0

// Package memberinstall writes to a member the objects that the host and the collector need there: the namespace, CRDs,
// accounts, roles, the admission policy, the Membership and the collector. It also deletes the accounts, which revokes all
// their tokens. Package permissions defines the rights, and package membercollector the collector's Deployment.
//
// Why it is so.
//
// The host removes its objects from the member with a credential that is itself one of these objects, so the credential
// must be removed last. Every ClusterRole and ClusterRoleBinding belongs (ownerReferences) to the ClusterRole
// fairlead-host. All ClusterRoles together own the admission policy, so the garbage collector removes the policy after the
// last ClusterRole. The service account owns all other objects in the namespace fairlead-system.
//
// CRDs and Deployments are applied server-side, because the API server fills them with defaults.
package memberinstall
