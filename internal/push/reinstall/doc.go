// SPDX-License-Identifier: Apache-2.0

// Package reinstall reads and removes, on a member, the operator of a Subscription that is ahead of its target
// (spec.upgrade.rollback: Reinstall). Package federate/upgrade decides, and a pass of the member queue creates the
// Subscription again.
//
// Words: a *CSV* is a ClusterServiceVersion, one version of an operator. The *record* is an annotation on the Delivery of the
// wrapper. The manager writes it before it removes the first object.
//
// Why it is so:
//
//   - The record is the intent of the removal, as the inventory of a Delivery is the intent of an apply. A restarted manager
//     reads there what it had begun to remove, by uid, and finishes. It also reads there when the operator was last
//     reinstalled. An annotation needs no field of the CRD, so a member with an older CRD cannot drop it.
//   - The record is never deleted: one entry for each Subscription stays on the Delivery. But it ends, when the operator is created
//     again or the author accepts the later version, and it permits removals only for minutes. So it removes nothing weeks later.
//   - Every object is removed by its uid and resourceVersion, so the manager removes nothing that has changed since it decided.
//   - Before the record, the manager tries every deletion without effect (a dry run). So a missing right, a closed namespace or a
//     webhook keeps the whole operator, and not half of it.
package reinstall
