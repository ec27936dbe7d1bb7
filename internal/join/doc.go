// SPDX-License-Identifier: Apache-2.0

// Package join makes a cluster a member, and ends its membership. Besides internal/push it is the only package that writes
// to a member.
//
// Words:
//
//   - *Join* is idempotent: it reads every object, writes only the objects that differ, and reports for each step whether
//     the object was created, configured or unchanged. A second join completes a join that stopped half-way.
//   - *Grants* are the rights that the member gives the host: profiles (core, storage, volumes, olm, catalogs, secrets,
//     rbac, any) and single GROUP/RESOURCEs.
//   - The *admission policy* is the ValidatingAdmissionPolicy by which the member restricts the host's account to open
//     namespaces.
//   - The *host's account* is the service account fairlead-host on the member, which the host uses. The *collector's
//     account* is the service account fairlead-collector, see docs/adr/0014.
//   - The *Secret at the host* has the host's token for one member, and the collector's token if the collector runs inside
//     the manager. It also has the *binding*: the address and the CA for which the tokens are meant.
//   - A *token Secret* is an empty Secret on the member to which a token is bound. Its deletion revokes the token. The
//     Secret at the host lists the token Secrets that the manager still has to delete (key SecretSuperseded).
//   - To *withdraw* is to remove Fairlead's own objects from a member. Workloads, their namespaces and their marks stay.
//   - To *forget* a member is to remove it at the host without contacting it, because the member will never answer again.
//
// Why it is so.
//
// A flag that the user leaves out changes nothing: a second join without --allow, --namespaces, --collector, --proxy-url or
// --labels keeps the values of the first join. So a join that repairs a member changes none of its labels, and the placement
// of objects by these labels stays as it was.
//
// Join reads each object, and updates only Fairlead's fields where they differ. It does not use server-side apply. So
// changes of other clients stay (labels, annotations, the rules that Kubernetes fills into an aggregated role), and a join
// that changes nothing writes nothing. CRDs are applied server-side, because the API server fills them with defaults.
//
// Joins, renewals by the manager and unjoins may run at the same time. Each of them writes the Secret at the host only if
// its resourceVersion is still the one that it has read. So if two of them overlap, only one can write the Secret; see
// exchangeTokens. At its end a join checks that no other client has deleted an object that the join needs.
//
// The host removes its objects from the member with a credential that is itself one of these objects, so the credential
// must be removed last. Every ClusterRole and ClusterRoleBinding belongs (ownerReferences) to the ClusterRole
// fairlead-host. All ClusterRoles together own the admission policy, so the garbage collector removes the policy after the
// last ClusterRole. The service account owns all other objects in the namespace fairlead-system.
//
// Clear removes all objects that give the host no right. Sever then deletes the ClusterRole fairlead-host, and after it the
// namespace or the service account; a Role in that namespace permits the second deletion. The member's garbage collector
// deletes the objects that these two own. To remove the host by hand, an administrator deletes the ClusterRole
// fairlead-host. If Sever is killed after a deletion, the API server may refuse the requests of its next run. Sever counts
// such a refusal as success. So the caller has to record that Clear has finished, before it calls Sever.
//
// fairlead-system is deleted with the membership only if join created it, and never if the cluster is a host itself.
package join
