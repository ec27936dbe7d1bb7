// SPDX-License-Identifier: Apache-2.0

// Package demooperator is the operator that the sandbox installs through OLM. It is a real controller with a small kind of its own,
// Greeting, which it turns into ConfigMaps. It has three releases with visible differences.
//
// Words. A *release* is one version of the operator. An *instance* describes the process for one Deployment of the operator on a
// member: version, service account and namespace to watch.
//
// The sandbox's nodes are simulated: a pod there becomes Ready without a program. So the program runs beside the
// cluster. Watch watches the operator's Deployments on a member. For each Deployment that is rolled out it starts a
// process: of the release in the Deployment's image, with a token of the Deployment's service account. The process ends
// with the Deployment. So the operator has exactly the permissions that OLM gave that account, and a permission missing
// from a bundle shows. During a rollout the process of the previous release stays, like its pods would. Processes keep
// running when the watch ends.
//
// Why it is so. Run uses plain client-go informers rather than controller-runtime's manager. There may be one process per member and
// namespace on a laptop, the controller needs only two informers, and it holds only the metadata of ConfigMaps. It takes the
// namespace to watch in the same form as OLM gives it to real operators; an empty one is the whole cluster.
package demooperator
