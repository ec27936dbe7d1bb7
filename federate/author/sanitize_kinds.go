// SPDX-License-Identifier: Apache-2.0

package author

import (
	"encoding/json"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// byKind are the rules, by kind, for fields that the API server and Kubernetes' controllers choose.
var byKind = map[schema.GroupKind][]rule{
	core("Service"):                             {withoutClusterIPs, withoutNodePorts, withoutChosenFamilies},
	core("PersistentVolumeClaim"):               {withoutBinding, withoutDefaultedClass},
	core("PersistentVolume"):                    {withoutClaim},
	core("Pod"):                                 {withoutNode, withoutTokenVolumes, withoutPriority},
	core("Namespace"):                           {withoutNamespaceMarks},
	core("ServiceAccount"):                      {withoutMadeSecrets},
	core("Secret"):                              {withoutToken},
	of("apps", "Deployment"):                    {withoutRevision},
	of("apps", "ReplicaSet"):                    {withoutRevision},
	of("apps", "DaemonSet"):                     {withoutRevision},
	of("apps", "StatefulSet"):                   {withoutTemplateStatus},
	of("batch", "Job"):                          {withoutJobIdentity},
	of("operators.coreos.com", "Subscription"):  {withoutOperatorLabels},
	of("operators.coreos.com", "OperatorGroup"): {withoutProvidedAPIs},
}

// withoutClusterIPs keeps "None", which a person chose: it makes the Service headless.
func withoutClusterIPs(c *cleaning) {
	spec := mapAt(c.content, "spec")
	ip := textAt(spec, "clusterIP")
	if ip == "None" {
		remove(spec, "clusterIPs")
		return
	}
	if remove(spec, "clusterIP") && ip != "" {
		c.noteByHand("spec.clusterIP %s left out: each member chooses its own", ip)
	}
	if ips, _ := spec["clusterIPs"].([]any); len(ips) != 1 || ips[0] != "None" {
		remove(spec, "clusterIPs")
	}
}

func withoutNodePorts(c *cleaning) {
	for _, port := range mapsAt(c.content, "spec", "ports") {
		value := port["nodePort"]
		if remove(port, "nodePort") && value != nil {
			c.noteByHand("spec.ports nodePort %v left out: each member chooses its own; add it with an override if it must be this one", value)
		}
	}
	remove(c.content, "spec", "healthCheckNodePort")
}

// withoutChosenFamilies removes IP families from live objects only. There, a family that the cluster chose looks like
// one that the author asked for. In a manifest the author asked for it.
func withoutChosenFamilies(c *cleaning) {
	if c.live {
		remove(c.content, "spec", "ipFamilies")
	}
}

func withoutBinding(c *cleaning) {
	volume := textAt(c.content, "spec", "volumeName")
	if remove(c.content, "spec", "volumeName") && volume != "" {
		c.noteByHand("spec.volumeName %s left out: a volume belongs to one cluster, and each member binds its own; "+
			"if you prepared a volume on a member, add its name with an override", volume)
	}
	c.dropAnnotations(func(key string) bool {
		switch key {
		case "volume.kubernetes.io/selected-node", "volume.kubernetes.io/storage-provisioner",
			"volume.beta.kubernetes.io/storage-provisioner", "volume.kubernetes.io/storage-resizer":
			return true
		}
		return strings.HasPrefix(key, "pv.kubernetes.io/")
	})
}

// withoutDefaultedClass removes the default class that a cluster writes into a claim without a class. kubectl's record
// of the applied object shows whether the author set the class. Without that record, only the author knows.
func withoutDefaultedClass(c *cleaning) {
	class := textAt(c.content, "spec", "storageClassName")
	if !c.live || class == "" {
		return
	}
	var applied map[string]any
	record := textAt(c.content, "metadata", "annotations", lastApplied)
	if record == "" || json.Unmarshal([]byte(record), &applied) != nil {
		c.note("spec.storageClassName %s may only be the default of the cluster from which this was read: "+
			"leave the field out for each member's default class", class)
		return
	}
	if _, said := mapAt(applied, "spec")["storageClassName"]; !said {
		remove(c.content, "spec", "storageClassName")
	}
}

// withoutClaim removes a claim reference that the binder chose. If the author reserved the volume for a claim, it removes
// only the uid and the resourceVersion of the claim.
func withoutClaim(c *cleaning) {
	const byController = "pv.kubernetes.io/bound-by-controller"
	if _, chosen := mapAt(c.content, "metadata", "annotations")[byController]; chosen {
		remove(c.content, "spec", "claimRef")
	}
	removeIf(c.content, oneOf("uid", "resourceVersion"), "spec", "claimRef")
	c.dropAnnotations(oneOf(byController))
}

func withoutNode(c *cleaning) {
	node := textAt(c.content, "spec", "nodeName")
	if remove(c.content, "spec", "nodeName") && node != "" {
		c.noteByHand("spec.nodeName %s left out: each member's scheduler chooses a node; select the kind of node with spec.nodeSelector", node)
	}
}

var (
	tokenVolume = regexp.MustCompile(`^kube-api-access-[a-z0-9]{5}$`)
	madeSecret  = regexp.MustCompile(`-(token|dockercfg)-[a-z0-9]{5}$`)
)

// withoutTokenVolumes removes the volumes that admission adds to each Pod for its account's token.
func withoutTokenVolumes(c *cleaning) {
	const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	gone := map[string]bool{}
	filterList(c.content, func(volume map[string]any) bool {
		name := textAt(volume, "name")
		if tokenVolume.MatchString(name) || c.live && madeSecret.MatchString(textAt(volume, "secret", "secretName")) &&
			name == textAt(volume, "secret", "secretName") {
			gone[name] = true
		}
		return !gone[name]
	}, "spec", "volumes")
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		for _, container := range mapsAt(c.content, "spec", list) {
			filterList(container, func(mount map[string]any) bool {
				return !gone[textAt(mount, "name")] || textAt(mount, "mountPath") != mountPath
			}, "volumeMounts")
		}
	}
}

// withoutPriority removes the number that the priority class gave a live Pod. A member whose class has another number
// would refuse the Pod.
func withoutPriority(c *cleaning) {
	if c.live {
		removeIf(c.content, oneOf("priority", "preemptionPolicy"), "spec")
	}
}

func withoutNamespaceMarks(c *cleaning) {
	c.dropLabels(func(key string) bool {
		return key == "kubernetes.io/metadata.name" || strings.HasPrefix(key, "olm.operatorgroup.uid/")
	})
	removeIf(c.content, oneOf("finalizers"), "spec")
	if spec, isMapping := fieldAt(c.content, "spec").(map[string]any); isMapping && len(spec) == 0 {
		remove(c.content, "spec")
	}
}

// withoutMadeSecrets removes the references to Secrets that controllers made for this account, recognised by their
// names. References that an author wrote stay.
func withoutMadeSecrets(c *cleaning) {
	for _, list := range []string{"secrets", "imagePullSecrets"} {
		filterList(c.content, func(ref map[string]any) bool {
			name := textAt(ref, "name")
			return !strings.HasPrefix(name, c.name) || !madeSecret.MatchString(name)
		}, list)
	}
}

// withoutToken removes everything from a token Secret but the request for a token: each member's control plane fills it
// in.
func withoutToken(c *cleaning) {
	if textAt(c.content, "type") != "kubernetes.io/service-account-token" {
		return
	}
	if remove(c.content, "data") {
		c.note("data left out: each member makes a token of its own for this Secret")
	}
	c.dropAnnotations(oneOf("kubernetes.io/service-account.uid"))
}

func withoutRevision(c *cleaning) {
	c.dropAnnotations(oneOf("deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history",
		"deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas", "deprecated.daemonset.template.generation"))
}

// withoutTemplateStatus removes the status that the claim templates of a live StatefulSet have.
func withoutTemplateStatus(c *cleaning) {
	for _, template := range mapsAt(c.content, "spec", "volumeClaimTemplates") {
		remove(template, "status")
		removeIf(template, oneOf("creationTimestamp"), "metadata")
	}
}

// withoutJobIdentity removes the selector that the API server makes from the Job's uid, and its labels. Both stay if
// the author set manualSelector.
func withoutJobIdentity(c *cleaning) {
	if manual, _ := fieldAt(c.content, "spec", "manualSelector").(bool); manual {
		return
	}
	remove(c.content, "spec", "selector")
	made := oneOf("controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name")
	c.dropLabels(made)
	removeIf(c.content, made, "spec", "template", "metadata", "labels")
	c.dropAnnotations(oneOf("batch.kubernetes.io/job-tracking"))
}

// withoutOperatorLabels removes the labels that OLM adds to a Subscription for its package and namespace.
func withoutOperatorLabels(c *cleaning) {
	c.dropLabels(func(key string) bool { return strings.HasPrefix(key, "operators.coreos.com/") })
}

func withoutProvidedAPIs(c *cleaning) {
	c.dropAnnotations(oneOf("olm.providedAPIs"))
}
