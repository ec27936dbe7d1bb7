// SPDX-License-Identifier: Apache-2.0

// Package join makes a cluster a member and lets it go again: it is the only writer, beside internal/push, on a member.
//
// Words. *Join* is idempotent: it looks at every object, writes those that are not as they should be and says of each
// step whether it was created, configured or unchanged; what an earlier join left half done is completed. *Grants*
// are what the member lets the host write: profiles (core, storage, volumes, olm, catalogs, secrets, rbac, any) and
// single GROUP/RESOURCEs. The *admission policy* is the ValidatingAdmissionPolicy by which the member itself holds the host's account
// to what is open. The *account* is the service account that the host uses; the
// collector has another, fairlead-collector, see docs/adr/0014. To *withdraw* is to take Fairlead's
// own things off a member; workloads, their namespaces and their marks stay. *Forget* gives up a member that will
// never answer again.
//
// Why it is so.
//
// A flag that is left out says nothing: a second join without --allow, --namespaces, --collector, --proxy-url or
// --labels keeps what the first one was told, so that repairing a member never moves what is placed on it.
//
// Objects are compared before they are written instead of being applied: what other people put on them (labels, annotations,
// the rules that Kubernetes fills into an aggregated role) stays, and a join that changes nothing costs no write.
// CRDs, which the API server fills with defaults, are applied server-side.
//
// The host removes its objects with a credential that is one of them, so the credential must go last.
// Every ClusterRole and ClusterRoleBinding belongs (ownerReferences) to the ClusterRole fairlead-host, the admission policy to
// all ClusterRoles, so that it is the last to go, and everything in
// the namespace fairlead-system to the service account. Clear removes all that carries no right; Sever then deletes the
// ClusterRole, and the namespace or the service account, for which a Role in that namespace is enough; the member's
// garbage collector does the rest. To remove the host by hand, an administrator deletes the ClusterRole fairlead-host.
// Killed between the two, Sever finds itself refused and takes that for done: so its caller must have noted that Clear
// was through.
//
// fairlead-system goes with the member only when join made it there, and never when the cluster is a host itself.
package join
