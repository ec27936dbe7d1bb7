// SPDX-License-Identifier: Apache-2.0

// Package demooperator is the operator that the sandbox installs through OLM: a real controller with a small kind of its own,
// Greeting, that it turns into ConfigMaps, in three releases which an eye can tell apart.
//
// Words. A release is one version of the operator. An instance is one Deployment of the operator on a member, seen as what has
// to run for it: a version, a service account, a namespace to watch.
//
// The sandbox's nodes are simulated: a pod there becomes Ready without any program. So the program is run beside the cluster:
// Watch looks at the operator's Deployments on a member and has a process started for each one that is rolled out, of the release
// that the Deployment's image names, with a token of the Deployment's own service account, and has it ended with the Deployment.
// What the operator may do is therefore what OLM gave that account, no more; a permission missing from a bundle shows. While a
// rollout is under way the process of the release before stays, as its pods would. Processes outlive the watch that began them.
//
// Why it is so. Run stands on plain client-go informers rather than on controller-runtime's manager: there may be one process per
// member and namespace on a laptop, two informers are all the controller needs, and of the ConfigMaps it holds metadata only.
// It takes the namespace to watch as OLM tells it to real operators; an empty one is the whole cluster.
package demooperator
