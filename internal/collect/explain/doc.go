// SPDX-License-Identifier: Apache-2.0

// Package explain reads on a member what explains why an object is not healthy: the newest Warning event about it, the first cause among
// its pods, and the evidence. For a container that crashed, the cause has the line of its log that best explains the crash. Evidence is the
// events about the object and about what it owns, and its failing containers with the ends of their logs. Package federate/health has the
// rules for causes, and package federate/evidence makes the evidence.
//
// Answer reads the evidence that a person requests: the events about an object, or the logs of all its containers. The object may be
// healthy.
//
// A Reader reads only pods that belong to the object: it follows owner references from the pod to a workload that a Delivery
// lists, or to the operator that a listed Subscription installs. So a wrapper shows nothing of other workloads in the namespace.
//
// There is one exception. A pod that mounts a claim, and does not run yet, may belong to any workload in the namespace of the claim. A Reader
// reads the events of three such pods, and not their logs: often only they show why the claim has no volume, for example because no node
// fits the pod.
package explain
