// SPDX-License-Identifier: Apache-2.0

// Package health judges the health of one object on a member, from the object and its related objects.
//
// Words. Healthy: the object is in the state that its author asked for. Progressing: it is on its way there. Waiting:
// nothing is wrong, but something else has to happen first (a pod for a claim, an approval for an InstallPlan).
// Degraded: its own status, or the rules of its kind, report a problem. A *verdict* is one of these states. It has a
// reason for programs, a sentence for people, and the time at which it may change without an event.
//
// Why it is so:
//
// The package is pure. The caller reads the other inputs of the rules (the installed CSV, the class of a claim, the
// newest warning) and passes them in as Related. It passes in the time too. Debouncing is then a comparison of two
// values, and every trap of OLM is a line in a table of tests.
//
// kstatus judges every kind that has no rule here: it knows the built-in workloads, and the conventions that custom
// resources follow. kstatus calls a custom resource without a status healthy, even if its controller has not seen it
// yet. So such an object stays Progressing for 30 seconds before it counts as Healthy.
//
// Kinds without progress (ConfigMap, StorageClass, Role) are healthy when they were applied. The collector neither
// reads them to judge nor writes that they are healthy.
//
// A verdict never claims more than is known. OLM reports a Subscription AtLatestKnown while its CSV is still
// installing. It reports CSVs as Failed that succeed half a second later. So only the CSV's phase, debounced, shows
// that an operator is well.
//
// A Subscription with a target (package upgrade) is Healthy only at the target. A plan that waits is Progressing there, and
// not Waiting: the manager approves it.
//
// Text from a member is data: Clean bounds it and removes the characters that a terminal would obey.
package health
