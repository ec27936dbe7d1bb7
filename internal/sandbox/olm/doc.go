// SPDX-License-Identifier: Apache-2.0

// Package olm puts a real OLM v0 on a sandbox's member, out of the cluster and without images, with a small catalog.
//
// Words. The catalog is a folder with one file in OLM's file-based format; it is the only record of what is published on that
// member. A bundle is one version of the demo operator in it. To publish is to write the next bundle into the file and to wait
// until OLM has seen it.
//
// Three processes belong to a member: olm (installs what a ClusterServiceVersion says), catalog (resolves Subscriptions to
// InstallPlans) and catalogserver (serves the folder over gRPC; its source is in the control-planes module, with operator-registry,
// whose dependencies the product must not carry). The caller's supervisor runs them and restarts olm and catalog also when they
// end with 0, which they do on purpose once, after labelling what an older OLM left.
//
// Why it is so. Bundles are inline: every manifest is a property of the bundle, so that OLM needs neither an image nor an unpack
// Job. The CatalogSource has an address and no image, so that OLM makes no pod for it. The only pod is the operator's own, which
// the sandbox's nodes simulate (see package demooperator). The manifests are made from typed values and from what demooperator says
// of itself, its CRD, rules and versions, so that a bundle and the program cannot drift apart.
package olm
