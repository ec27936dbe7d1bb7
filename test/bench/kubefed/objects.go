// SPDX-License-Identifier: Apache-2.0

package kubefed

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	coreVersion  = "core.kubefed.io/v1beta1"
	typesVersion = "types.kubefed.io/v1beta1"
)

// federated returns a federated object of this kind that is placed on every member.
func federated(kind, namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": typesVersion,
		"kind":       kind,
		"metadata":   map[string]any{"namespace": namespace, "name": name},
		"spec":       map[string]any{"placement": map[string]any{"clusterSelector": map[string]any{}}},
	}}
}

// Namespace returns the federated object that creates a namespace of the host on every member. Without it KubeFed delivers no object of
// that namespace.
func Namespace(name string) *unstructured.Unstructured {
	return federated("FederatedNamespace", name, name)
}

// ConfigMap returns a federated ConfigMap with the data of the ConfigMap like, placed on every member.
func ConfigMap(namespace, name string, like *unstructured.Unstructured) *unstructured.Unstructured {
	obj := federated("FederatedConfigMap", namespace, name)
	Retemplate(obj, like)
	return obj
}

// Retemplate replaces the data in the template of a federated ConfigMap by a copy of the data of the ConfigMap like.
func Retemplate(obj, like *unstructured.Unstructured) {
	spec, _ := obj.Object["spec"].(map[string]any)
	spec["template"] = map[string]any{"data": like.DeepCopy().Object["data"]}
}

// Propagated returns the generation of each federated ConfigMap that all members have; the parameter members is their number. Other
// federated ConfigMaps are not in the map.
func Propagated(ctx context.Context, host client.Client, members int) (map[client.ObjectKey]int64, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(typesVersion)
	list.SetKind("FederatedConfigMapList")
	if err := host.List(ctx, list); err != nil {
		return nil, err
	}
	found := make(map[client.ObjectKey]int64)
	for i := range list.Items {
		if generation, ok := propagated(&list.Items[i], members); ok {
			found[client.ObjectKeyFromObject(&list.Items[i])] = generation
		}
	}
	return found, nil
}

// propagated returns the generation of a federated object. ok reports whether all members have this generation; the parameter members is
// their number.
func propagated(obj *unstructured.Unstructured, members int) (generation int64, ok bool) {
	generation, _, _ = unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
	clusters, _, _ := unstructured.NestedSlice(obj.Object, "status", "clusters")
	if !isTrue(obj, "Propagation") || len(clusters) != members {
		return 0, false
	}
	for _, one := range clusters {
		// For a cluster that has the object, KubeFed sets no status. Otherwise the status is the reason why the cluster does
		// not have it.
		if status, ok := one.(map[string]any)["status"]; ok && status != "" {
			return 0, false
		}
	}
	return generation, true
}

// isTrue reports whether the object's condition of this type is True.
func isTrue(obj *unstructured.Unstructured, conditionType string) bool {
	conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, one := range conditions {
		if c, _ := one.(map[string]any); c["type"] == conditionType {
			return c["status"] == "True"
		}
	}
	return false
}

// Leader returns the identity of the controller manager that leads, or "". KubeFed keeps it in an annotation of a ConfigMap.
func Leader(ctx context.Context, host client.Client) (string, error) {
	lock := &corev1.ConfigMap{}
	if err := host.Get(ctx, client.ObjectKey{Namespace: SystemNamespace, Name: Process}, lock); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return holder(lock.Annotations["control-plane.alpha.kubernetes.io/leader"])
}

func holder(record string) (string, error) {
	if record == "" {
		return "", nil
	}
	var is struct {
		HolderIdentity string `json:"holderIdentity"`
	}
	if err := json.Unmarshal([]byte(record), &is); err != nil {
		return "", fmt.Errorf("reading the leader of KubeFed: %w", err)
	}
	return is.HolderIdentity, nil
}
