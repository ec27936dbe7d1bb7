// SPDX-License-Identifier: Apache-2.0

// Package memberinstall writes to a member the objects that the host and the collector need there: the namespace, CRDs,
// accounts, roles, the admission policy, the Membership and the collector. It also deletes the accounts, which revokes all
// their tokens. Package permissions defines the rights, and package membercollector the collector's Deployment.
//
// Why it is so.
//
// The host removes its objects from the member with a credential that is itself one of these objects, so the credential
// must be removed last. Therefore the objects own each other (ownerReferences): the ClusterRole fairlead-host owns every
// other ClusterRole, and every ClusterRoleBinding. All ClusterRoles together own the admission policy, so the garbage
// collector removes the policy after the last ClusterRole. In the namespace fairlead-system, the host's account owns the
// collector's account, the Roles and the RoleBindings. The collector's account owns the objects of the collector. Each
// account owns its token Secrets.
//
// CRDs and Deployments are applied server-side, because the API server fills them with defaults.
package memberinstall
