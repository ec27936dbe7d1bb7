// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/approval"
)

func TestAnApprovalIsBesideItsWrapperAndOwnedByIt(t *testing.T) {
	long := strings.Repeat("x", 239) + ".y" + strings.Repeat("z", 12)
	wrapper := func(name string, finalizers ...string) *v1alpha1.Federated {
		w := &v1alpha1.Federated{}
		w.Namespace, w.Name, w.UID, w.Finalizers = "shop", name, "u", finalizers
		return w
	}
	cluster := &v1alpha1.ClusterFederated{}
	cluster.Name, cluster.UID = "fast", "c"
	for name, test := range map[string]struct {
		w                   v1alpha1.Wrapper
		namespace, generate string // with generate "", the test checks only the length of generateName
		owner               []metav1.OwnerReference
	}{
		"a Federated": {wrapper("web", v1alpha1.Finalizer), "shop", "web-overwrite-",
			[]metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Federated", Name: "web", UID: "u"}}},
		"a ClusterFederated": {cluster, v1alpha1.SystemNamespace, "fast-overwrite-",
			[]metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterFederated", Name: "fast", UID: "c"}}},
		"one whose dependents go first": {wrapper("web", metav1.FinalizerDeleteDependents), "shop", "web-overwrite-", nil},
		"one with a long name": {wrapper(long), "shop", "",
			[]metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Federated", Name: long, UID: "u"}}},
	} {
		t.Run(name, func(t *testing.T) {
			a := approval.New(test.w, v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowOverwrite, Clusters: []string{"east"}})
			if diff := cmp.Diff(test.owner, a.OwnerReferences); diff != "" || a.Namespace != test.namespace {
				t.Errorf("in %s, owners (-want +got):\n%s", a.Namespace, diff)
			}
			if problems := validation.IsDNS1123Subdomain(a.GenerateName + "x7k2p"); len(problems) > 0 || test.generate != "" && a.GenerateName != test.generate {
				t.Errorf("%q: %v", a.GenerateName, problems)
			}
			want := v1alpha1.WrapperReference{Kind: test.w.WrapperKind(), Name: test.w.GetName(), UID: test.w.GetUID()}
			if a.Spec.Wrapper != want || a.Spec.Allow != v1alpha1.AllowOverwrite || len(a.Spec.Clusters) != 1 {
				t.Errorf("%+v", a.Spec)
			}
		})
	}
}
