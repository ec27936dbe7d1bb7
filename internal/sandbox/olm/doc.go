// SPDX-License-Identifier: Apache-2.0

// Package olm installs a real OLM v0 on a member of a sandbox, with a small catalog. OLM runs as processes outside the cluster, so it needs no images.
// Type Pods installs it in the pods of a cluster with kubelets.
//
// Words. The *catalog* of a member is a folder with one file in OLM's file-based format. This file alone decides which versions are published on that member.
// A *bundle* is one version of the demo operator in the file. To *publish* is to write the next bundle into the file, and to wait
// until OLM has read it.
//
// Each member has three processes of OLM, which the caller's supervisor runs:
//
//   - olm installs the objects of ClusterServiceVersions.
//   - catalog resolves Subscriptions to InstallPlans.
//   - catalogserver serves the catalog over gRPC. Its source is in the control planes' module, because the product must not
//     have the dependencies of operator-registry.
//
// olm and catalog exit once with code 0, after they have labelled the objects of an older OLM. The supervisor starts them again.
//
// With ServeOwn, a test can serve a further catalog. Subscriptions to the sandbox's catalog do not see its versions.
//
// Why it is so. The manifests of a bundle are inline, as properties of the bundle, so OLM needs neither an image nor a Job that unpacks one. The
// CatalogSource has an address in place of an image, so OLM creates no pod for the catalog. The only pods are those of the
// operators, which the sandbox simulates (see package demooperator). The manifests are made from the CRD, the rules and the
// versions in package demooperator, so a bundle always fits the program.
package olm
