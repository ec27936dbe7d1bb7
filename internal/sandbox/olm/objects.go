// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"fmt"

	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/operator-framework/api/crds"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

const (
	// systemNamespace is OLM's own namespace. Subscriptions in every namespace can use a CatalogSource that is there.
	systemNamespace = "olm"
	// globalNamespace is the namespace for Subscriptions to operators that serve all namespaces.
	globalNamespace = "operators"
	// CatalogSource is the name of the CatalogSource for the sandbox's catalog, in namespace olm.
	CatalogSource = "demo-catalog"
)

// definitions returns OLM's CRDs.
func definitions() []*apiextensionsv1.CustomResourceDefinition {
	return []*apiextensionsv1.CustomResourceDefinition{
		crds.CatalogSource(), crds.ClusterServiceVersion(), crds.InstallPlan(), crds.OLMConfig(),
		crds.Operator(), crds.OperatorCondition(), crds.OperatorGroup(), crds.Subscription(),
	}
}

// namespaces returns the namespaces that OLM needs.
func namespaces() []client.Object {
	namespace := func(name string) client.Object {
		return &corev1.Namespace{TypeMeta: typeMeta("v1", "Namespace"), ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	return []client.Object{namespace(systemNamespace), namespace(globalNamespace)}
}

// objects returns the objects that OLM needs, with a CatalogSource for the server at address.
func objects(address string) []client.Object {
	return []client.Object{
		// OLM reads its settings from this object. The defaults are enough, but without the object OLM would log at every
		// resync that it is missing.
		&operatorsv1.OLMConfig{
			TypeMeta:   typeMeta(operatorsv1.GroupVersion.String(), "OLMConfig"),
			ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
		},
		// The empty spec selects every namespace. So an operator with a Subscription in this namespace serves all
		// namespaces.
		&operatorsv1.OperatorGroup{
			TypeMeta:   typeMeta(operatorsv1.GroupVersion.String(), operatorsv1.OperatorGroupKind),
			ObjectMeta: metav1.ObjectMeta{Namespace: globalNamespace, Name: "global-operators"},
		},
		&operatorsv1alpha1.CatalogSource{
			TypeMeta:   typeMeta(operatorsv1alpha1.SchemeGroupVersion.String(), operatorsv1alpha1.CatalogSourceKind),
			ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: CatalogSource},
			Spec: operatorsv1alpha1.CatalogSourceSpec{
				SourceType:  operatorsv1alpha1.SourceTypeGrpc,
				Address:     address,
				DisplayName: "Demo catalog of the sandbox",
				Publisher:   "Fairlead",
			},
		},
	}
}

func typeMeta(apiVersion, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind}
}

// stated returns an object without its status and creationTimestamp. Go structs always have these fields, and an apply with them would claim to own
// them.
func stated(o runtime.Object) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("converting %T: %w", o, err)
	}
	unstructured.RemoveNestedField(content, "status")
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	return &unstructured.Unstructured{Object: content}, nil
}
