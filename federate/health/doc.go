// SPDX-License-Identifier: Apache-2.0

// Package health judges the health of one object on a member, from the object and its related objects.
//
// Words. Healthy: the object is in the state that its author asked for. Progressing: it is on its way there. Waiting:
// nothing is wrong, but something else has to happen first (a pod uses a claim, a person approves an InstallPlan).
// Degraded: the object's status, or the rules of its kind, report a problem. A *verdict* is one of these states. It has
// a reason for programs, a sentence for people, and the time after which it may change without an event.
//
// The package is pure. The caller reads the other inputs of the rules (the installed CSV, the class of a claim, the
// newest warning) and passes them in as Related. It also passes in the time. So a debounce is a comparison of two
// times, and the tests cover each special case of OLM with one line of a table.
//
// The library kstatus judges every kind that has no rule here. It has rules for the built-in workloads, and for the
// conventions that custom resources follow. kstatus calls a custom resource without a status healthy, even if its
// controller has not seen it yet. So such an object stays Progressing for 30 seconds before it counts as Healthy.
//
// Kinds whose health never changes after the apply (ConfigMap, StorageClass, Role) are healthy when they are applied.
// The collector neither reads them for their health nor writes that they are healthy.
//
// A verdict never claims more than the member's objects show. OLM reports a Subscription as AtLatestKnown while its CSV
// is still installing. It reports CSVs as Failed that succeed half a second later. So only the CSV's phase, debounced,
// shows that an operator is healthy.
//
// A Subscription with a target (package upgrade) is Healthy only when the target is installed. If its next InstallPlan
// waits for approval, it is Progressing and not Waiting, because the manager approves the plan.
//
// A ClusterExtension (OLM v1) is Healthy only when the installed version is one that its spec asks for. OLM's conditions can
// be those of the earlier version for a moment, and without this rule a wave would pass with that version.
//
// If the pods of a workload, or of the operator of a Subscription, do not become ready, the verdict begins with the cause that may have
// brought about the others. FirstTrouble and CannotCreate find this cause, and Trouble.Tell makes an Explanation of it.
//
// Text from a member is data: secrets in it are redacted (package redact), and Clean bounds it and removes the characters that a terminal would obey.
package health
