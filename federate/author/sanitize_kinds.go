// SPDX-License-Identifier: Apache-2.0

package author

import (
	"encoding/json"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// byKind has, by kind, the rules that remove fields chosen by an API server or by a controller of Kubernetes.
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

// withoutClusterIPs removes cluster IPs, which each cluster chooses. It keeps "None", by which an author makes a
// Service headless.
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
			c.noteByHand("spec.ports nodePort %v left out: each member chooses its own; if every member must use this port, add it with an override", value)
		}
	}
	remove(c.content, "spec", "healthCheckNodePort")
}

// withoutChosenFamilies removes IP families from live objects only. In a live object, either the cluster or the author
// chose the families, and the object does not show which. In a manifest the author chose them.
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

// withoutDefaultedClass removes a StorageClass that the cluster wrote into a claim without a class. The annotation in
// which `kubectl apply` records its input shows whether the author set the class. If that annotation is missing,
// withoutDefaultedClass keeps the class and adds a note.
func withoutDefaultedClass(c *cleaning) {
	class := textAt(c.content, "spec", "storageClassName")
	if !c.live || class == "" {
		return
	}
	var applied map[string]any
	record := textAt(c.content, "metadata", "annotations", lastApplied)
	if record == "" || json.Unmarshal([]byte(record), &applied) != nil {
		c.note("spec.storageClassName %s may be only the default class of the cluster from which the claim was read: "+
			"leave the field out for each member's default class", class)
		return
	}
	if _, said := mapAt(applied, "spec")["storageClassName"]; !said {
		remove(c.content, "spec", "storageClassName")
	}
}

// withoutClaim removes spec.claimRef from a volume if the volume controller wrote it. If the author reserved the volume
// for a claim, withoutClaim removes only the uid and the resourceVersion of the claim.
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

// withoutTokenVolumes removes the volumes with a service account token that admission adds to each Pod.
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

// withoutPriority removes spec.priority from a live Pod, where admission set it from the PriorityClass. A member whose
// PriorityClass has another value would refuse the Pod.
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

// withoutMadeSecrets removes from a ServiceAccount the references to Secrets that controllers made for it. It
// recognizes such Secrets by their names. References that an author wrote stay.
func withoutMadeSecrets(c *cleaning) {
	for _, list := range []string{"secrets", "imagePullSecrets"} {
		filterList(c.content, func(ref map[string]any) bool {
			name := textAt(ref, "name")
			return !strings.HasPrefix(name, c.name) || !madeSecret.MatchString(name)
		}, list)
	}
}

// withoutToken removes the token from a Secret of type service-account-token. The Secret itself stays, because it makes
// each member's control plane write a token of its own.
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

// withoutTemplateStatus removes the status of the claim templates in a live StatefulSet.
func withoutTemplateStatus(c *cleaning) {
	for _, template := range mapsAt(c.content, "spec", "volumeClaimTemplates") {
		remove(template, "status")
		removeIf(template, oneOf("creationTimestamp"), "metadata")
	}
}

// withoutJobIdentity removes from a Job the selector and the labels that the API server made from the Job's uid. With
// spec.manualSelector the author wrote them, and they stay.
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

// withoutOperatorLabels removes from a Subscription the labels that OLM adds for its package and namespace.
func withoutOperatorLabels(c *cleaning) {
	c.dropLabels(func(key string) bool { return strings.HasPrefix(key, "operators.coreos.com/") })
}

func withoutProvidedAPIs(c *cleaning) {
	c.dropAnnotations(oneOf("olm.providedAPIs"))
}
