// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// reservedObjects are objects that no wrapper may have, each with the field that makes it reserved.
var reservedObjects = map[string]struct{ object, at string }{
	"the host's ClusterRole":             {"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: fairlead-host}}", "/metadata/name"},
	"a grant's ClusterRole":              {"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: fairlead-host-core}}", "/metadata/name"},
	"a grant's role by an old version":   {"{apiVersion: rbac.authorization.k8s.io/v1beta1, kind: ClusterRole, metadata: {name: fairlead-host}}", "/metadata/name"},
	"the collector's ClusterRoleBinding": {"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: fairlead-collector}}", "/metadata/name"},
	"a Role":                             {"{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: fairlead-host}}", "/metadata/name"},
	"a RoleBinding":                      {"{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: fairlead-collector-granted}}", "/metadata/name"},
	"the host's account":                 {"{apiVersion: v1, kind: ServiceAccount, metadata: {name: fairlead-host}}", "/metadata/name"},
	"the manager's ClusterRole":          {"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: fairlead-manager}}", "/metadata/name"},
	"the admission policy":               {"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicy, metadata: {name: fairlead-host}}", "/metadata/name"},
	"its binding":                        {"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingAdmissionPolicyBinding, metadata: {name: fairlead-host}}", "/metadata/name"},
	"the webhook configuration":          {"{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: fairlead}}", "/metadata/name"},
	"the mutating one":                   {"{apiVersion: admissionregistration.k8s.io/v1, kind: MutatingWebhookConfiguration, metadata: {name: fairlead}}", "/metadata/name"},
	"a kind of the group":                {"{apiVersion: federation.fairlead.dev/v1, kind: Membership, metadata: {name: self}}", "/apiVersion"},
	"a CRD of the group":                 {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a}, spec: {group: federation.fairlead.dev}}", "/spec/group"},
	"a CRD by its name":                  {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: deliveries.federation.fairlead.dev}, spec: {group: example.com}}", "/metadata/name"},
	"the group's APIService":             {"{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: v1alpha1.federation.fairlead.dev}}", "/metadata/name"},
	"Fairlead's namespace":               {"{apiVersion: v1, kind: Namespace, metadata: {name: fairlead-system}}", "/metadata/name"},
	"a namespace of Kubernetes":          {"{apiVersion: v1, kind: Namespace, metadata: {name: kube-system}}", "/metadata/name"},
	"a label that widens the host's rights": {
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, labels: {federation.fairlead.dev/aggregate-to-host: 'false'}}}",
		"/metadata/labels/federation.fairlead.dev~1aggregate-to-host"},
	"a label that widens the collector's rights": {
		"{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: a, labels: {federation.fairlead.dev/aggregate-to-collector: 'true'}}}",
		"/metadata/labels/federation.fairlead.dev~1aggregate-to-collector"},
	"a namespace that opens itself": {
		"{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {federation.fairlead.dev/open: 'true'}}}",
		"/metadata/labels/federation.fairlead.dev~1open"},
	"a namespace with the label made": {
		"{apiVersion: v1, kind: Namespace, metadata: {name: a, labels: {federation.fairlead.dev/made: 'true'}}}",
		"/metadata/labels/federation.fairlead.dev~1made"},
}

func TestFairleadsOwnObjectsAreReserved(t *testing.T) {
	for name, tc := range reservedObjects {
		t.Run(name, func(t *testing.T) {
			err := Reserved(object(t, tc.object))
			if err == nil {
				t.Fatal("it may be federated")
			}
			if !strings.HasPrefix(err.Error(), tc.at+": ") {
				t.Errorf("the error does not begin with the field %s: %s", tc.at, err)
			}
		})
	}
	for name, text := range map[string]string{
		"a ConfigMap of such a name":       "{apiVersion: v1, kind: ConfigMap, metadata: {name: fairlead-host}}",
		"another's ClusterRole":            "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: fairleads}}",
		"another's CRD":                    "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: a.example.com}, spec: {group: example.com}}",
		"a namespace":                      "{apiVersion: v1, kind: Namespace, metadata: {name: shop, labels: {env: test}}}",
		"a role of another kind's group":   "{apiVersion: example.com/v1, kind: ClusterRole, metadata: {name: fairlead-host}}",
		"a group that only ends like it":   "{apiVersion: notfederation.fairlead.dev/v1, kind: X, metadata: {name: a}}",
		"what people write on objects":     "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {federation.fairlead.dev/keep: 'true'}}}",
		"labels that are no object at all": "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: [x]}}",
	} {
		t.Run(name, func(t *testing.T) {
			if err := Reserved(object(t, text)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAdmissionRefusesReservedObjects(t *testing.T) {
	for name, tc := range reservedObjects {
		t.Run(name, func(t *testing.T) {
			s := spec(t, placed)
			s.Objects = []runtime.RawExtension{{Raw: fromYAML(t, tc.object)}}
			for kind, namespace := range map[v1alpha1.WrapperKind]string{v1alpha1.KindFederated: "shop", v1alpha1.KindClusterFederated: ""} {
				if errs := Validate(s, namespace, kind); len(errs) != 1 || !strings.Contains(errs[0].Error(), "Forbidden") {
					t.Errorf("in a %s: %v", kind, errs)
				}
			}
		})
	}
}
