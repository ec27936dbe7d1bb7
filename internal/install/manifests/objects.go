// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
)

// Names of objects of the host part.
const (
	Manager = "fairlead-manager" // the Deployment, its account, its roles
	Webhook = "fairlead"         // the mutating and the validating webhook configuration
	Service = "fairlead-webhook" // the Service by which the API server calls the webhooks
)

// CRDs returns the names of the host's CRDs. It leaves out the CRDs of Delivery and Membership, which a join installs on a
// member.
func CRDs() []string {
	return []string{"approvals." + v1alpha1.Group, "clusterfederateds." + v1alpha1.Group, "federateds." + v1alpha1.Group, "memberclusters." + v1alpha1.Group,
		"memberreports." + v1alpha1.Group}
}

// order lists the kinds in the order in which an installation applies them: each object comes after the objects that it
// needs. The webhook configurations come last: the API server calls the manager's webhooks as soon as the configurations
// exist.
var order = []string{"Namespace", "CustomResourceDefinition", "PriorityClass", "ServiceAccount",
	"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", // before the rights that they limit
	"ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding",
	"Service", "PodDisruptionBudget", "NetworkPolicy", "Issuer", "Certificate", "Deployment", "ServiceMonitor", "PrometheusRule",
	"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}

// Objects returns the objects of an installation, in the order of their installation. tag is the tag of the manager's
// image; it has no effect if the values have image.tag or image.digest.
func Objects(v Values, tag string) ([]*unstructured.Unstructured, error) {
	folders := []config.Folder{config.CRD, config.RBAC, config.Manager, config.Webhook}
	if v.CertManager.Enabled {
		folders = append(folders, config.CertManager)
	} else {
		folders = append(folders, config.Rotation)
	}
	if v.ServiceMonitor.Enabled || v.PrometheusRule.Enabled {
		folders = append(folders, config.Prometheus)
	}
	var all []*unstructured.Unstructured
	for _, folder := range folders {
		objects, err := config.Objects(folder)
		if err != nil {
			return nil, err
		}
		for _, obj := range objects {
			if folder == config.Prometheus && !v.monitors(obj) || !v.wants(obj) {
				continue
			}
			if err := v.configure(obj, tag); err != nil {
				return nil, fmt.Errorf("configuring %s %s: %w", obj.GetKind(), obj.GetName(), err)
			}
			all = append(all, obj)
		}
	}
	for _, obj := range all {
		if !slices.Contains(order, obj.GetKind()) {
			return nil, fmt.Errorf("ordering the objects: the list of kinds to install lacks the kind of %s %s", obj.GetKind(), obj.GetName())
		}
	}
	slices.SortStableFunc(all, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.GetKind()), slices.Index(order, b.GetKind())), strings.Compare(a.GetName(), b.GetName()))
	})
	return all, nil
}

// wants reports whether an installation with these values includes an object from the files in config/.
func (v Values) wants(obj *unstructured.Unstructured) bool {
	switch obj.GetKind() {
	case "CustomResourceDefinition":
		return slices.Contains(CRDs(), obj.GetName())
	case "Namespace":
		return v.CreateNamespace
	case "PriorityClass":
		return v.PriorityClass.Create
	case "NetworkPolicy":
		return v.NetworkPolicy.Enabled
	}
	return true
}

// monitors reports whether an installation with these values includes an object of config.Prometheus.
func (v Values) monitors(obj *unstructured.Unstructured) bool {
	if obj.GetKind() == "PrometheusRule" {
		return v.PrometheusRule.Enabled
	}
	return v.ServiceMonitor.Enabled
}

// configure applies the values to an object.
func (v Values) configure(obj *unstructured.Unstructured, tag string) error {
	switch obj.GetKind() {
	case "PriorityClass":
		obj.SetName(v.PriorityClass.Name)
	case "Deployment":
		return v.configureManager(obj, tag)
	case "ServiceMonitor":
		labels := obj.GetLabels()
		maps.Copy(labels, v.ServiceMonitor.Labels)
		obj.SetLabels(labels)
	case "PrometheusRule":
		labels := obj.GetLabels()
		maps.Copy(labels, v.PrometheusRule.Labels)
		obj.SetLabels(labels)
	case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
		if v.CertManager.Enabled {
			obj.SetAnnotations(map[string]string{"cert-manager.io/inject-ca-from": v1alpha1.SystemNamespace + "/fairlead-webhook"})
		}
		return config.PointWebhooksAtService(obj, v1alpha1.SystemNamespace, Service)
	}
	return nil
}
