// SPDX-License-Identifier: Apache-2.0

// Package membercollector defines how the collector runs on a member (collector: Member): its image and its Deployment. It
// also finds out from a Deployment and its pods why a collector does not run. It holds values only. internal/join writes the
// objects, and controllers/membercluster reads them.
//
// Why it is so:
//
// One replica. A collector elects no leader: two of them on one member would write the same statuses twice, and watch
// every object twice. In an update the new pod starts before the old one ends, so an image that cannot be pulled leaves
// the old collector at work. For some seconds both write. Their writes name the resourceVersion that they judged, and do
// no harm.
//
// The token is projected, bound to the pod, valid for an hour, and renewed by the kubelet. Deleting the pod ends it.
//
// The image follows the host's manager. So a join after an upgrade of the host upgrades the collector too, and host and
// members need the same registry, or a mirror of it.
package membercollector
