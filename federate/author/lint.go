// SPDX-License-Identifier: Apache-2.0

package author

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// lints return notes about one object each. Lint itself adds the notes for which it has to compare several objects.
var lints = []func(m Manifest) []string{
	emptyClass,
	literalSecret,
	lonePod,
	hostPaths,
	fixedAddresses,
	madeByOLM,
	nullItems,
}

// Lint returns notes about settings that hostctl accepts, but that the author may not intend, in the order of the
// manifests. It does not change the manifests.
func Lint(manifests []Manifest) []Note {
	var notes []Note
	groups := map[string]bool{}
	var defaults []Manifest
	for _, m := range manifests {
		switch m.Object.GroupVersionKind().GroupKind() {
		case of("operators.coreos.com", "OperatorGroup"):
			groups[m.Object.GetNamespace()] = true
		case of("storage.k8s.io", "StorageClass"):
			if m.Object.GetAnnotations()["storageclass.kubernetes.io/is-default-class"] == "true" {
				defaults = append(defaults, m)
			}
		}
	}
	for _, m := range manifests {
		for _, lint := range lints {
			for _, text := range lint(m) {
				notes = append(notes, Note{Where: m.Where, Text: text})
			}
		}
		if m.Object.GroupVersionKind().GroupKind() == of("operators.coreos.com", "Subscription") && !groups[m.Object.GetNamespace()] {
			notes = append(notes, Note{Where: m.Where, Text: "the input has no OperatorGroup for this namespace: " +
				"unless the members have one, OLM does nothing there and reports no error; add one to the input"})
		}
	}
	if len(defaults) > 1 {
		names := make([]string, 0, len(defaults))
		for _, m := range defaults {
			names = append(names, m.Object.GetName())
		}
		notes = append(notes, Note{Where: defaults[1].Where, Text: fmt.Sprintf("the input has %d default classes (%s): "+
			"a member uses the newest of them; remove the annotation storageclass.kubernetes.io/is-default-class from all but one",
			len(defaults), strings.Join(names, ", "))})
	}
	return notes
}

func emptyClass(m Manifest) []string {
	const text = `storageClassName "" switches dynamic provisioning off; leave the field out for each member's default class`
	var notes []string
	switch m.Object.GroupVersionKind().GroupKind() {
	case core("PersistentVolumeClaim"):
		if class, isText := fieldAt(m.Object.Object, "spec", "storageClassName").(string); isText && class == "" {
			notes = append(notes, "spec."+text)
		}
	case of("apps", "StatefulSet"):
		for i, template := range mapsAt(m.Object.Object, "spec", "volumeClaimTemplates") {
			if class, isText := fieldAt(template, "spec", "storageClassName").(string); isText && class == "" {
				notes = append(notes, fmt.Sprintf("spec.volumeClaimTemplates[%d].spec.%s", i, text))
			}
		}
	}
	return notes
}

func literalSecret(m Manifest) []string {
	if m.Object.GroupVersionKind().GroupKind() != core("Secret") ||
		len(mapAt(m.Object.Object, "data"))+len(mapAt(m.Object.Object, "stringData")) == 0 {
		return nil
	}
	return []string{"the wrapper will hold the Secret's content, and everyone who can read wrappers in this namespace can read it; " +
		"if these are too many people, bring the Secret to the members in another way"}
}

func lonePod(m Manifest) []string {
	if m.Object.GroupVersionKind().GroupKind() != core("Pod") {
		return nil
	}
	return []string{"a Pod without a controller is not replaced when its node fails; federate a Deployment or a Job instead"}
}

// podSpecs has the paths of the pod spec in the kinds that contain one.
var podSpecs = map[schema.GroupKind][]string{
	core("Pod"):                   {"spec"},
	core("PodTemplate"):           {"template", "spec"},
	core("ReplicationController"): {"spec", "template", "spec"},
	of("apps", "DaemonSet"):       {"spec", "template", "spec"},
	of("apps", "Deployment"):      {"spec", "template", "spec"},
	of("apps", "ReplicaSet"):      {"spec", "template", "spec"},
	of("apps", "StatefulSet"):     {"spec", "template", "spec"},
	of("batch", "Job"):            {"spec", "template", "spec"},
	of("batch", "CronJob"):        {"spec", "jobTemplate", "spec", "template", "spec"},
}

// nodeFolders are folders that every node has. A DaemonSet, for example a CSI node plugin, may mount them without a
// note: it finds them on each node, and stores no data in them.
var nodeFolders = []string{"/dev", "/sys", "/proc", "/run", "/var/run", "/lib/modules", "/etc", "/var/lib/kubelet"}

func isNodeFolder(path string) bool {
	path = strings.TrimSuffix(path, "/")
	return slices.ContainsFunc(nodeFolders, func(folder string) bool {
		return path == folder || strings.HasPrefix(path, folder+"/")
	})
}

func hostPaths(m Manifest) []string {
	gk := m.Object.GroupVersionKind().GroupKind()
	var found []string
	if path, isPodSpec := podSpecs[gk]; isPodSpec {
		for _, volume := range mapsAt(m.Object.Object, append(slices.Clone(path), "volumes")...) {
			hostPath := mapAt(volume, "hostPath")
			if hostPath == nil || gk == of("apps", "DaemonSet") && isNodeFolder(textAt(hostPath, "path")) {
				continue
			}
			found = append(found, textAt(hostPath, "path"))
		}
	}
	if hostPath := mapAt(m.Object.Object, "spec", "hostPath"); hostPath != nil && gk == core("PersistentVolume") {
		found = append(found, textAt(hostPath, "path"))
	}
	if len(found) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("hostPath %s: a folder of one node. Nodes of members may lack it, "+
		"and its data stays behind when the pod moves to another node. Use a PersistentVolumeClaim", strings.Join(found, ", "))}
}

func fixedAddresses(m Manifest) []string {
	if m.Object.GroupVersionKind().GroupKind() != core("Service") {
		return nil
	}
	var notes []string
	if ip := textAt(m.Object.Object, "spec", "loadBalancerIP"); ip != "" {
		notes = append(notes, fmt.Sprintf("every member would request spec.loadBalancerIP %s; set it with an override for each member", ip))
	}
	if ips, _ := fieldAt(m.Object.Object, "spec", "externalIPs").([]any); len(ips) > 0 {
		notes = append(notes, fmt.Sprintf(
			"every member would claim spec.externalIPs %s; set them with an override for each member", listed(ips)))
	}
	return notes
}

func madeByOLM(m Manifest) []string {
	gvk := m.Object.GroupVersionKind()
	if gvk.Group != "operators.coreos.com" || gvk.Kind != "ClusterServiceVersion" && gvk.Kind != "InstallPlan" {
		return nil
	}
	return []string{fmt.Sprintf(
		"OLM creates each %s on the member itself, from a Subscription; federate the Subscription and leave this out", gvk.Kind)}
}
