// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// word is a person's word about what two members hold for web.
func word(change func(*v1alpha1.Approval)) *v1alpha1.Approval {
	a := &v1alpha1.Approval{Spec: v1alpha1.ApprovalSpec{
		Wrapper: v1alpha1.ApprovedWrapper{Kind: v1alpha1.KindFederated, Name: "web", UID: "u"}, Allow: v1alpha1.AllowOverwrite,
		Clusters: []string{"east", "west"},
		Overwrites: []v1alpha1.OverwrittenDelivery{
			{Cluster: "east", UID: "d-east", Generation: 7}, {Cluster: "west", UID: "d-west", Generation: 2}},
	}}
	a.Namespace, a.Name, a.CreationTimestamp = "shop", "web-1", metav1.NewTime(now)
	if change != nil {
		change(a)
	}
	return a
}

func TestWhichWordsAboutAWrapperAreHeard(t *testing.T) {
	all := map[string]*v1alpha1.DeliveryVersion{"east": {UID: "d-east", Generation: 7}, "west": {UID: "d-west", Generation: 2}}
	none := map[string]*v1alpha1.DeliveryVersion{}
	for name, test := range map[string]struct {
		words []*v1alpha1.Approval
		want  map[string]*v1alpha1.DeliveryVersion
	}{
		"none":                               {nil, none},
		"one":                                {[]*v1alpha1.Approval{word(nil)}, all},
		"one about a wrapper before this":    {[]*v1alpha1.Approval{word(func(a *v1alpha1.Approval) { a.Spec.Wrapper.UID = "t" })}, none},
		"one about another wrapper":          {[]*v1alpha1.Approval{word(func(a *v1alpha1.Approval) { a.Spec.Wrapper.Name = "api" })}, none},
		"one about a cluster-scoped one":     {[]*v1alpha1.Approval{word(func(a *v1alpha1.Approval) { a.Spec.Wrapper.Kind = v1alpha1.KindClusterFederated })}, none},
		"one about something else":           {[]*v1alpha1.Approval{word(func(a *v1alpha1.Approval) { a.Spec.Allow = v1alpha1.AllowRelease })}, none},
		"one of another namespace's writers": {[]*v1alpha1.Approval{word(func(a *v1alpha1.Approval) { a.Namespace = "other" })}, none},
		"of two the later one": {[]*v1alpha1.Approval{word(nil), word(func(a *v1alpha1.Approval) {
			a.Name, a.CreationTimestamp = "web-0", metav1.NewTime(now.Add(time.Hour))
			a.Spec.Overwrites = []v1alpha1.OverwrittenDelivery{{Cluster: "east", UID: "d-east", Generation: 9}}
		})}, map[string]*v1alpha1.DeliveryVersion{"east": {UID: "d-east", Generation: 9}, "west": {UID: "d-west", Generation: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			for _, a := range test.words {
				objects = append(objects, a)
			}
			r, _ := host(t, nil, objects...)
			p := &reconciliation{Reconciler: r, key: web, wrapper: wrapper("u", "1", 1)}
			if err := p.listApprovals(t.Context()); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, p.overwrites); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhomAWordWakes(t *testing.T) {
	cluster := func(namespace string) *v1alpha1.Approval {
		return word(func(a *v1alpha1.Approval) {
			a.Namespace, a.Spec.Wrapper.Kind = namespace, v1alpha1.KindClusterFederated
		})
	}
	for name, test := range map[string]struct {
		kind v1alpha1.WrapperKind
		word *v1alpha1.Approval
		want []reconcile.Request
	}{
		"its wrapper":                         {v1alpha1.KindFederated, word(nil), []reconcile.Request{{NamespacedName: web.NamespacedName}}},
		"nobody of the other scope":           {v1alpha1.KindClusterFederated, word(nil), nil},
		"a cluster-scoped one":                {v1alpha1.KindClusterFederated, cluster(v1alpha1.SystemNamespace), []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "web"}}}},
		"none of these from anywhere outside": {v1alpha1.KindClusterFederated, cluster("shop"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := host(t, nil)
			r.kind = test.kind
			if diff := cmp.Diff(test.want, r.approved(t.Context(), test.word)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
