// SPDX-License-Identifier: Apache-2.0

// Package join makes a cluster a member, and ends its membership. Beside internal/push it is the only writer on a
// member.
//
// Words. *Join* is idempotent: it checks every object, writes only objects that differ, and reports for each step
// whether the object was created, configured or unchanged. It completes a join that stopped half-way. *Grants* are
// the rights that the member gives the host: profiles (core, storage, volumes, olm, catalogs, secrets, rbac, any) and
// single GROUP/RESOURCEs. The *admission policy* is the ValidatingAdmissionPolicy by which the member restricts the
// host's account to open namespaces. The *account* is the service account that the host uses; the collector has
// another, fairlead-collector, see docs/adr/0014. To *withdraw* is to remove Fairlead's own objects from a member;
// workloads, their namespaces and their marks stay. *Forget* gives up a member that will never answer again.
//
// Why it is so.
//
// A flag that is left out changes nothing: a second join without --allow, --namespaces, --collector, --proxy-url or
// --labels keeps the values of the first. So a join that repairs a member never moves the objects placed on it.
//
// Join compares objects before it writes them, and does not apply them. So changes of other clients stay (labels,
// annotations, the rules that Kubernetes fills into an aggregated role), and a join that changes nothing writes
// nothing. CRDs are applied server-side, because the API server fills them with defaults.
//
// Joins, renewals by the manager and unjoins may run at the same time. Each writes the Secret at the host only as it read
// it, so the Secret orders them; see exchangeTokens. At its end a join checks that nothing it needs was deleted meanwhile.
//
// The host removes its objects with a credential that is one of them, so the credential must go last. Every
// ClusterRole and ClusterRoleBinding belongs (ownerReferences) to the ClusterRole fairlead-host. The admission policy
// belongs to all ClusterRoles, so that it goes last. Everything in the namespace fairlead-system belongs to the
// service account. Clear removes all objects that carry no right. Sever then deletes the ClusterRole, and the
// namespace or the service account; a Role in that namespace permits this. The member's garbage collector does the
// rest. To remove the host by hand, an administrator deletes the ClusterRole fairlead-host. If Sever is killed
// between the two deletions, its next run is refused and takes that for done. So its caller must have noted that
// Clear had finished.
//
// fairlead-system is deleted with the membership only if join created it, and never if the cluster is a host itself.
package join
