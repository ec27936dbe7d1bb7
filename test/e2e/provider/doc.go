// SPDX-License-Identifier: Apache-2.0

// Package provider gives the end-to-end suite its clusters: a host and members that have joined it.
//
// Words. The *sandbox* provides control planes without kubelets, as plain processes, with audit logs and OLM. *kind*
// provides clusters with kubelets, in containers; it is in the package kindclusters. Both name their clusters host,
// member-1, member-2, …
//
// Why it is so: specs ask a Provider only for features that both have. A spec that needs more has the need as a label,
// and does not run if the provider does not meet it.
package provider
