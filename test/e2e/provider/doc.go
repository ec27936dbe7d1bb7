// SPDX-License-Identifier: Apache-2.0

// Package provider gives the end-to-end suite its clusters: a host and members that have joined it.
//
// Words. The *sandbox* provides control planes without kubelets, as plain processes, with audit logs and OLM. *kind*
// provides clusters with kubelets, in containers; package kindclusters implements it. Both name their clusters host,
// member-1, member-2, …
//
// Why it is so: specs use only interface Provider, which both providers implement. A spec that needs more has a label that
// names the need. It does not run with a provider that lacks what the label names.
package provider
