// SPDX-License-Identifier: Apache-2.0

package author

import (
	"encoding/json"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// API groups of KubeFed: those of federated kinds, and those of KubeFed's own configuration. Both lists include the
// groups of earlier releases.
var (
	kubeFedTypes = oneOf("types.kubefed.io", "types.kubefed.k8s.io", "primitives.federation.k8s.io")
	kubeFedCore  = oneOf("core.kubefed.io", "core.kubefed.k8s.io", "core.federation.k8s.io", "scheduling.kubefed.io")
)

// kubeFedVersions has the apiVersion of common kinds. Templates in KubeFed objects have no apiVersion.
var kubeFedVersions = map[string]string{
	"ConfigMap": "v1", "LimitRange": "v1", "Namespace": "v1", "PersistentVolumeClaim": "v1", "ResourceQuota": "v1", "Secret": "v1",
	"Service": "v1", "ServiceAccount": "v1",
	"DaemonSet": "apps/v1", "Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1",
	"CronJob": "batch/v1", "Job": "batch/v1",
	"ClusterRole": "rbac.authorization.k8s.io/v1", "ClusterRoleBinding": "rbac.authorization.k8s.io/v1",
	"Role": "rbac.authorization.k8s.io/v1", "RoleBinding": "rbac.authorization.k8s.io/v1",
	"CustomResourceDefinition": "apiextensions.k8s.io/v1", "Ingress": "networking.k8s.io/v1", "NetworkPolicy": "networking.k8s.io/v1",
	"StorageClass": "storage.k8s.io/v1",
}

// kubeFed has the placement and the overrides of a KubeFed object in Fairlead's form. The field clusters is nil if the
// KubeFed object has no placement.
type kubeFed struct {
	clusters  *v1alpha1.ClusterSelection
	overrides []v1alpha1.Override
}

// isKubeFed reports whether the object of a manifest is of an API group of KubeFed.
func isKubeFed(m Manifest) bool {
	group := m.Object.GroupVersionKind().Group
	return kubeFedTypes(group) || kubeFedCore(group)
}

// fromKubeFed converts a KubeFed object, for example a FederatedDeployment, into the object in its template, with the
// placement and the overrides. It refuses a setting without a counterpart in Fairlead, and names the alternative.
func fromKubeFed(m Manifest) (Manifest, error) {
	fail := func(field, format string, args ...any) (Manifest, error) {
		return Manifest{}, &Error{Where: m.Where, Field: field, Text: fmt.Sprintf(format, args...)}
	}
	kind, isFederated := strings.CutPrefix(m.Object.GetKind(), "Federated")
	if !kubeFedTypes(m.Object.GroupVersionKind().Group) || !isFederated {
		return fail("kind", "%s is KubeFed's own configuration: leave it out; `hostctl join` registers clusters", m.Object.GetKind())
	}
	spec := mapAt(m.Object.Object, "spec")
	for _, key := range sortedKeys(spec) {
		switch key {
		case "template", "placement", "overrides":
		case "retainReplicas":
			return fail("spec.retainReplicas", "has no counterpart in Fairlead: remove this field, and leave spec.replicas out of the template, so that each member keeps its own value")
		default:
			return fail("spec."+key, "has no counterpart in Fairlead: remove it, or write the wrapper by hand from spec.template")
		}
	}
	template := mapAt(spec, "template")
	if template == nil && kind == "Namespace" {
		template = map[string]any{} // in KubeFed, the template of a FederatedNamespace is the Namespace in which that object is
	}
	if template == nil {
		return fail("spec.template", "is missing: there is nothing to wrap")
	}
	object := (&unstructured.Unstructured{Object: template}).DeepCopy()
	if object.GetKind() == "" {
		object.SetKind(kind)
	}
	if object.GetAPIVersion() == "" {
		version, known := kubeFedVersions[kind]
		if !known {
			return fail("spec.template.apiVersion", "is missing, and hostctl does not know the API version of %s. Give apiVersion and kind in the template", kind)
		}
		object.SetAPIVersion(version)
	}
	object.SetName(m.Object.GetName())
	if builtIn(object.GroupVersionKind().GroupKind()) != ClusterScoped {
		object.SetNamespace(m.Object.GetNamespace())
	}
	out := Manifest{Where: m.Where, Object: object, kubeFed: &kubeFed{}}
	var err error
	if out.kubeFed.clusters, err = kubeFedPlacement(spec); err != nil {
		return fail("spec.placement", "%s", err)
	}
	out.kubeFed.overrides, err = kubeFedOverrides(out, spec)
	return out, err
}

// kubeFedPlacement converts the placement of a KubeFed object. If the object has both names and a selector, only the
// names count, as in KubeFed.
func kubeFedPlacement(spec map[string]any) (*v1alpha1.ClusterSelection, error) {
	placement := mapAt(spec, "placement")
	if placement["clusterNames"] != nil {
		return nil, fmt.Errorf("clusterNames belongs to an earlier KubeFed. Write it as clusters: [{name: CLUSTER}]")
	}
	if clusters, named := placement["clusters"]; named {
		selection := &v1alpha1.ClusterSelection{}
		for _, cluster := range mapsAt(map[string]any{"clusters": clusters}, "clusters") {
			selection.Names = append(selection.Names, textAt(cluster, "name"))
		}
		if len(selection.Names) == 0 {
			return nil, fmt.Errorf("clusters is empty, so KubeFed places the object on no cluster: remove the object from the input, or name clusters")
		}
		return selection, nil
	}
	if placement["clusterSelector"] == nil {
		return nil, nil
	}
	data, err := json.Marshal(placement["clusterSelector"])
	if err != nil {
		return nil, err
	}
	selector := metav1.LabelSelector{}
	if err := json.Unmarshal(data, &selector); err != nil {
		return nil, fmt.Errorf("clusterSelector: %w", err)
	}
	return &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{selector}}, nil
}

func kubeFedOverrides(m Manifest, spec map[string]any) ([]v1alpha1.Override, error) {
	var all []v1alpha1.Override
	for i, from := range mapsAt(spec, "overrides") {
		override := v1alpha1.Override{
			Clusters: &v1alpha1.ClusterSelection{Names: []string{textAt(from, "clusterName")}},
			Target:   v1alpha1.OverrideTarget{Kind: m.Object.GetKind(), Name: m.Object.GetName()},
		}
		for j, one := range mapsAt(from, "clusterOverrides") {
			operation := v1alpha1.PatchOperation{Op: v1alpha1.PatchOp(textAt(one, "op")), Path: textAt(one, "path")}
			if operation.Op == "" {
				operation.Op = v1alpha1.PatchReplace // KubeFed's default
			}
			field := fmt.Sprintf("spec.overrides[%d].clusterOverrides[%d]", i, j)
			if !strings.HasPrefix(operation.Path, "/") {
				return nil, &Error{Where: m.Where, Field: field + ".path", Text: fmt.Sprintf("%q is no JSON pointer: it has to begin with /, as in /spec/replicas", operation.Path)}
			}
			if value := one["value"]; value != nil && operation.Op != v1alpha1.PatchRemove {
				data, err := json.Marshal(value)
				if err != nil {
					return nil, &Error{Where: m.Where, Field: field + ".value", Text: err.Error()}
				}
				operation.Value = &apiextensionsv1.JSON{Raw: data}
			}
			override.Patch = append(override.Patch, operation)
		}
		if len(override.Patch) > 0 {
			all = append(all, override)
		}
	}
	return all, nil
}

// note returns a sentence about the conversion of a KubeFed object. The parameter kind is that of the object in the
// template.
func (k *kubeFed) note(kind string) string {
	words := "placement and overrides keep KubeFed's cluster names and labels, so the MemberClusters need the same names and labels"
	if k.clusters == nil {
		words = "the KubeFed object has no placement, so KubeFed places it on no cluster"
	}
	return fmt.Sprintf("converted the %s in the KubeFed object; %s", kind, words)
}
