// SPDX-License-Identifier: Apache-2.0

// Package demooperator is the operator that the sandbox installs through OLM. It is a real controller for a kind of its own, Greeting: for each Greeting it
// writes a ConfigMap. It has three releases that differ visibly.
//
// Words. A *release* is one version of the operator. An *instance* has the settings of the operator's process for one Deployment on a
// member: version, service account and the namespace to watch.
//
// How it runs. The sandbox's nodes are simulated: a pod there becomes Ready, but no program runs in it. So the operator runs as a process outside the
// cluster:
//
//   - Watch watches the operator's Deployments on a member. For each Deployment that is rolled out it starts a process, of the
//     release in the Deployment's image and with a token of the Deployment's service account. The process ends with the
//     Deployment.
//   - So the operator has exactly the permissions that OLM gave that account, and fails if a bundle lacks a permission.
//   - During a rollout the process of the earlier release goes on, as its pods would.
//   - The processes go on when Watch ends.
//
// Why it is so. A laptop may run one process for each member and namespace, so Run has to need little memory: it uses plain client-go informers and not
// controller-runtime's manager. It needs only two informers, and keeps only the metadata of ConfigMaps. OLM gives operators the
// namespace to watch in an annotation; "" means the whole cluster.
package demooperator
