// SPDX-License-Identifier: Apache-2.0

// Package olm installs a real OLM v0 for a member of a sandbox, with a small catalog. OLM runs as processes outside the cluster, without
// images.
//
// Words. The catalog is a folder with one file in OLM's file-based format; it is the only record of what is published on that
// member. A bundle is one version of the demo operator in it. To publish is to write the next bundle into the file and to wait
// until OLM has seen it.
//
// Each member has three processes. olm installs the objects of ClusterServiceVersions. catalog resolves Subscriptions to InstallPlans.
// catalogserver serves the folder over gRPC; its source is in the control-planes module, with operator-registry, because the product
// must not have the dependencies of operator-registry. The caller's supervisor runs the processes. It restarts olm and catalog also
// when they end with 0: they do that once, on purpose, after they have labelled the objects of an older OLM. A test can have another
// catalog, with a server of its own, for versions that no Subscription to the sandbox's catalog must find (ServeOwn).
//
// Why it is so. Bundles are inline: every manifest is a property of the bundle, so that OLM needs neither an image nor an unpack
// Job. The CatalogSource has an address and no image, so that OLM makes no pod for it. The only pod is the operator's own, which
// the sandbox's nodes simulate (see package demooperator). The manifests are made from typed values and from the CRD, rules and
// versions in package demooperator, so that a bundle always fits the program.
package olm
