// SPDX-License-Identifier: Apache-2.0

// Package membercollector defines how the collector runs on a member (collector: Member): its image and its Deployment. It
// also finds out from the Deployment and its pods why a collector does not run. It has no client: memberinstall writes the
// objects, and controllers/membercluster reads them.
//
// Why it is so:
//
// The Deployment has one replica, because collectors elect no leader. Two collectors on one member would write the same
// statuses twice, and watch every object twice. In an update the new pod starts before the old pod ends, so the old
// collector continues if the kubelet cannot pull the new image. For some seconds both collectors write. That does no harm:
// each write carries the resourceVersion that the collector has read, so the API server refuses a write that is based on
// an older state.
//
// The collector's token is projected into its pod. It is bound to the pod, valid for an hour, and renewed by the kubelet.
// It becomes invalid when the pod is deleted.
//
// The image has the registry and the tag of the host's manager. So a join after an upgrade of the host upgrades the
// collector too. Members need access to the host's registry, or to a mirror of it.
package membercollector
