// SPDX-License-Identifier: Apache-2.0

// Package join makes a cluster a member, and ends its membership. Besides internal/push it is the only package that writes
// to a member. joiner.join (join.go) lists the steps of a join, and plan.write (plan.go) the steps that write.
//
// The parts of a join have packages of their own:
//
//   - steps reports what a join does.
//   - cluster connects to the host and to the member, and writes objects there.
//   - permissions defines what the host and the collector may do on a member: grants, roles and the admission policy.
//   - tokens requests, stores, renews and revokes the tokens of the host.
//   - membercollector defines how the collector runs on a member.
//   - memberinstall writes the objects of a join to the member, and deletes the accounts.
//
// Words:
//
//   - *Join* is idempotent: it reads every object, writes only the objects that differ, and reports for each step whether
//     the object was created, configured or unchanged. A second join completes a join that stopped half-way.
//   - To *withdraw* is to remove Fairlead's own objects from a member. Workloads, their namespaces and their marks stay.
//   - To *forget* a member is to remove it at the host without contacting it, because the member will never answer again.
//
// Why it is so.
//
// A flag that the user leaves out changes nothing: a second join without --allow, --namespaces, --collector, --proxy-url or
// --labels keeps the values of the first join. So a join that repairs a member changes none of its labels, and the placement
// of objects by these labels stays as it was.
//
// Joins, renewals by the manager and unjoins may run at the same time. At its end a join checks that no other client has
// deleted an object that the join needs.
//
// The host removes its objects from the member with a credential that is itself one of these objects. So the credential
// must be removed last (see package memberinstall for the owners of the objects). Two functions remove the objects:
//
//   - Clear removes all objects that give the host no right.
//   - Sever then deletes the ClusterRole fairlead-host, and after it the namespace fairlead-system or the host's service
//     account. A Role in that namespace permits the second deletion. The member's garbage collector deletes the objects
//     that the ClusterRole and the account own.
//
// If Sever is killed after a deletion, the host has lost rights, and the API server may refuse the requests of the next
// run. So Sever counts a refusal as success. But a refusal does not prove that Clear has run. So the caller has to record
// that Clear has run, before it calls Sever. To remove the host by hand, an administrator deletes the ClusterRole
// fairlead-host.
//
// Sever deletes the namespace fairlead-system only if a join created it, and never if the cluster is a host itself.
package join
