// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
)

// GroupVersion is the API group and version of Greeting.
var GroupVersion = schema.GroupVersion{Group: "demo.fairlead.dev", Version: "v1"}

// Kind is the kind that the operator reconciles, and Plural is the name of its resource.
const (
	Kind   = "Greeting"
	Plural = "greetings"
)

// maxRecipients bounds the recipients of a Greeting, so that its ConfigMap stays small.
const maxRecipients = 16

// Greeting asks for a ConfigMap with one message for each recipient.
type Greeting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GreetingSpec   `json:"spec"`
	Status GreetingStatus `json:"status,omitempty"`
}

// GreetingSpec is the message and its recipients.
type GreetingSpec struct {
	Message    string   `json:"message"`
	Recipients []string `json:"recipients,omitempty"`
}

// GreetingStatus is the result of the operator's last reconcile.
type GreetingStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	ConfigMap          string             `json:"configMap,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// Resource returns the resource of Greetings for requests.
func Resource() schema.GroupVersionResource { return GroupVersion.WithResource(Plural) }

func fromUnstructured(from *unstructured.Unstructured, to *Greeting) error {
	return runtime.DefaultUnstructuredConverter.FromUnstructured(from.Object, to)
}

// CRD returns the CustomResourceDefinition of Greeting, which is in every bundle.
func CRD() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: Plural + "." + GroupVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: GroupVersion.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: Plural, Singular: "greeting", Kind: Kind, ListKind: Kind + "List",
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: GroupVersion.Version, Served: true, Storage: true,
				Schema:       &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: greetingSchema()},
				Subresources: &apiextensionsv1.CustomResourceSubresources{Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{
					{Name: "Ready", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].status`},
					{Name: "ConfigMap", Type: "string", JSONPath: ".status.configMap"},
					{Name: "Reason", Type: "string", JSONPath: `.status.conditions[?(@.type=="Ready")].reason`},
					{Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp"},
				},
			}},
		},
	}
}

func greetingSchema() *apiextensionsv1.JSONSchemaProps {
	text := func(description string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "string", Description: description}
	}
	message := text("The text of the greeting.")
	message.MinLength, message.MaxLength = ptr.To[int64](1), ptr.To[int64](256)
	recipient := text("A name of letters, digits, '-', '_' and '.': it becomes part of a key of the ConfigMap.")
	recipient.MinLength, recipient.MaxLength, recipient.Pattern = ptr.To[int64](1), ptr.To[int64](63), `^[A-Za-z0-9._-]+$`

	return &apiextensionsv1.JSONSchemaProps{
		Type:        "object",
		Description: "A Greeting asks for a ConfigMap with one message per recipient.",
		Required:    []string{"spec"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"apiVersion": {Type: "string"}, "kind": {Type: "string"}, "metadata": {Type: "object"},
			"spec": {
				Type: "object", Required: []string{"message"},
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"message": message,
					"recipients": {
						Type: "array", Description: "The recipients of the message: at most 16, each once.",
						MaxItems: ptr.To[int64](maxRecipients), XListType: ptr.To("set"),
						Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &recipient},
					},
				},
			},
			"status": {
				Type: "object",
				Properties: map[string]apiextensionsv1.JSONSchemaProps{
					"observedGeneration": {Type: "integer", Format: "int64", Description: "The metadata.generation for which the operator wrote this status."},
					"configMap":          text("The name of the ConfigMap with the messages."),
					"conditions": {
						Type: "array", MaxItems: ptr.To[int64](8), XListType: ptr.To("map"), XListMapKeys: []string{"type"},
						Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: conditionSchema()},
					},
				},
			},
		},
	}
}

func conditionSchema() *apiextensionsv1.JSONSchemaProps {
	return &apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"type", "status", "reason", "message", "lastTransitionTime"},
		Properties: map[string]apiextensionsv1.JSONSchemaProps{
			"type": {Type: "string"}, "status": {Type: "string"}, "reason": {Type: "string"}, "message": {Type: "string"},
			"observedGeneration": {Type: "integer", Format: "int64"},
			"lastTransitionTime": {Type: "string", Format: "date-time"},
		},
	}
}

// Rules are the permissions of the operator's service account: exactly the verbs that Run uses. A server-side apply needs patch, and create if the object
// does not exist. Run needs no delete: the garbage collector deletes a ConfigMap after its Greeting.
func Rules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{GroupVersion.Group}, Resources: []string{Plural}, Verbs: []string{"get", "list", "watch"}},
		{APIGroups: []string{GroupVersion.Group}, Resources: []string{Plural + "/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "list", "watch", "create", "patch"}},
	}
}
