// SPDX-License-Identifier: Apache-2.0

// Package author turns plain manifests into wrappers: it parses, sanitizes, lints, splits by scope,
// wraps and emits. It is the first station of the flow, and what `hostctl federate` is made of.
//
// Words: a *source* is a file or a stream, a *document* one of the YAML or JSON documents in it, a
// *manifest* one object of a document (a List holds many). To *sanitize* is to take away what a
// cluster wrote: what is left is what a person could have written. An object is *live* when it carries
// traces of an API server (uid, resourceVersion, creationTimestamp, managedFields), so was read from a
// cluster rather than written by hand. A *note* tells something that is accepted and may still not be
// meant.
//
// Why it is so. YAML is read twice: once as nodes, which shows aliases, duplicate keys and depth, and
// once by the very conversion that kubectl uses, so that `on` or `0777` mean here what they mean there.
// Aliases are refused rather than expanded: Kubernetes objects do not need them and they make small
// files large. Some fields may come from the author or from the cluster (ipFamilies, priority). The package drops them from live
// objects only. It always drops fields that make no sense for a fleet (clusterIP, nodePort, volumeName), and adds a note
// if the object is not live. The scope of a kind comes from what
// was said explicitly, then from the CRDs of the very input, then from a table, then from a lookup, if
// there is one: it is never guessed from an absent namespace, since a ClusterRole pushed as a
// namespaced kind would fail on every member.
//
// All faults of an input are told at once. A file of a folder that holds no object is skipped with a note, since
// kustomize's and Helm's own files lie beside manifests; a file that was named is not skipped. A wrapper is read by
// the schema of its CustomResourceDefinition, with the validator that the API server has.
//
// The package has more than 15 files: one for each step and each rule of the way from text to wrapper. They share Manifest,
// Where and the faults of one input, so that a run tells all faults with their places.
//
// Documents are put out in an order of their own (kind, namespace, name), not in that of the input, so
// that the output does not change when a file is split in two.
package author
