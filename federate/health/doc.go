// SPDX-License-Identifier: Apache-2.0

// Package health judges the health of one object on a member, from the object and its related objects.
//
// Words. Healthy: it is what its author asked for. Progressing: it is on its way. Waiting: nothing is
// wrong, something else has to come first (a pod for a claim, a person for an InstallPlan). Degraded:
// it says of itself, or the rules of its kind say, that it is not well. A *verdict* is one of these,
// with a reason for programs, a sentence for people, and when time alone may change it.
//
// Why it is so:
//
// It is pure. What the rules need beside the object (the installed CSV, the class of a claim, the newest
// warning) is read by others and handed in as Around, and so is the time. Debouncing is then a
// comparison of two values, and every trap that OLM sets is a line in a table of tests.
//
// kstatus judges whatever has no rule here: it knows the built-in workloads, and the conventions that
// custom resources follow. kstatus calls a custom resource without a status healthy, even if its controller has not seen it yet. So such an
// object stays Progressing for 30 seconds before it counts as Healthy.
//
// Kinds without progress (ConfigMap, StorageClass, Role) are healthy when they were applied. The
// collector neither reads them to judge nor writes that they are healthy.
//
// A verdict never says more than is known. OLM reports a Subscription AtLatestKnown while its CSV is still
// installing, and CSVs as Failed that succeed half a second later: hence the CSV's phase, debounced, and
// nothing else, says that an operator is well.
//
// Text from a member is data: Clean bounds it and takes out what a terminal would obey.
package health
