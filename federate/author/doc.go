// SPDX-License-Identifier: Apache-2.0

// Package author turns plain manifests into wrappers: it parses, sanitizes, lints, splits by scope, wraps and emits. It
// is the first station of the flow. `hostctl federate` is its command.
//
// Words: a *source* is a file or a stream. A *document* is one of its YAML or JSON documents. A *manifest* is one
// object of a document (a List holds many). To *sanitize* is to remove the fields that a cluster wrote: only fields
// that an author could have written are left. An object is *live* when it was read from a cluster: it has traces of an
// API server (uid, resourceVersion, creationTimestamp, managedFields). A *note* is about input that is accepted and
// that the author may not have meant.
//
// Why it is so. YAML is read twice. The first reading gives nodes, which show aliases, duplicate keys and depth. The
// second uses the same conversion as kubectl, so that `on` or `0777` have the same meaning. Aliases are refused:
// Kubernetes objects do not need them, and expanding them makes small files large.
//
// Some fields may come from the author or from the cluster (ipFamilies, priority). The package drops them from live
// objects only. It always drops fields that make no sense for a fleet (clusterIP, nodePort, volumeName), and adds a
// note if the object is not live.
//
// The package looks up the scope of a kind in this order: the flags of the command, the CRDs of the same input, a
// table, and a lookup on a cluster, if there is one. It never guesses the scope from an absent namespace, since a
// ClusterRole pushed as a namespaced kind would fail on every member.
//
// The package reports all faults of an input together. It skips a file of a folder that holds no object, with a note,
// since the files of kustomize and Helm are beside manifests. It does not skip a file that the author named. It checks
// a wrapper in the input against the schema of its CustomResourceDefinition, with the API server's validator.
//
// The package has more than 15 files: one for each step and each rule of the way from text to wrapper. They share
// Manifest, Where and the faults of one input, so that a run reports all faults with their places.
//
// The output has its own order (kind, namespace, name), not the order of the input. So it does not change when a file
// is split in two.
package author
