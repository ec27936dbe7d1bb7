// SPDX-License-Identifier: Apache-2.0

// Package author turns plain manifests into wrappers: it parses manifests, removes the fields that a cluster wrote,
// adds notes about doubtful settings, and writes wrappers by scope. `hostctl federate` calls it.
//
// Words: a *source* is a file or a stream. A *document* is one of its YAML or JSON documents. A *manifest* is one
// object of a document (a List holds many). To *sanitize* is to remove the fields that a cluster wrote: only fields
// that an author could have written are left. An object is *live* when it was read from a cluster: it has traces of an
// API server (uid, resourceVersion, creationTimestamp, managedFields). A *note* is a remark about input that hostctl
// accepts, but that the author may not have meant.
//
// The package reads YAML twice. The first reading gives nodes, which show aliases, duplicate keys and depth. The second
// uses the same conversion as kubectl, so that `on` or `0777` have the same meaning. The package refuses aliases:
// Kubernetes objects need none, and a small file with aliases can expand to a huge object.
//
// Some fields may come from the author or from the cluster (ipFamilies, priority). The package drops such fields from
// live objects only. It always drops fields whose values are valid on one cluster only (clusterIP, nodePort,
// volumeName), and adds a note if the object is not live.
//
// The package looks up the scope of a kind in this order: the flags of the command, the CRDs of the same input, a
// table, metadata.namespace of the object, and a lookup on a cluster, if there is one. It never guesses the scope from
// an absent namespace: a ClusterRole pushed as a namespaced kind would fail on every member.
//
// The package reports all faults of an input together. If the author names a folder, the package skips files in it that
// have no Kubernetes object, for example files of kustomize and Helm, and adds a note. It does not skip a file that the
// author names. It checks a wrapper in the input against the schema of its CustomResourceDefinition, with the API
// server's validator.
//
// The package has more than 15 files: one for each step from the text to the wrapper, and one for each set of rules.
// All steps share the types Manifest, Where and faults, so that a run reports all faults with their places.
//
// The output has its own order (kind, namespace, name), not the order of the input. So it does not change when a file
// is split in two.
package author
