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

// overwriteApproval returns an Approval that lets the manager overwrite the Deliveries of web on two members.
func overwriteApproval(change func(*v1alpha1.Approval)) *v1alpha1.Approval {
	a := &v1alpha1.Approval{Spec: v1alpha1.ApprovalSpec{
		Wrapper: v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: "web", UID: "u"}, Allow: v1alpha1.AllowOverwrite,
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

func TestWhichApprovalsAllowAnOverwrite(t *testing.T) {
	all := map[string]*v1alpha1.DeliveryVersion{"east": {UID: "d-east", Generation: 7}, "west": {UID: "d-west", Generation: 2}}
	none := map[string]*v1alpha1.DeliveryVersion{}
	for name, test := range map[string]struct {
		approvals []*v1alpha1.Approval
		want      map[string]*v1alpha1.DeliveryVersion
	}{
		"none":        {nil, none},
		"an Approval": {[]*v1alpha1.Approval{overwriteApproval(nil)}, all},
		"an Approval for an earlier wrapper of the name": {[]*v1alpha1.Approval{overwriteApproval(func(a *v1alpha1.Approval) { a.Spec.Wrapper.UID = "t" })}, none},
		"an Approval for another wrapper":                {[]*v1alpha1.Approval{overwriteApproval(func(a *v1alpha1.Approval) { a.Spec.Wrapper.Name = "api" })}, none},
		"an Approval for a ClusterFederated":             {[]*v1alpha1.Approval{overwriteApproval(func(a *v1alpha1.Approval) { a.Spec.Wrapper.Kind = v1alpha1.KindClusterFederated })}, none},
		"an Approval of another decision":                {[]*v1alpha1.Approval{overwriteApproval(func(a *v1alpha1.Approval) { a.Spec.Allow = v1alpha1.AllowRelease })}, none},
		"an Approval in another namespace":               {[]*v1alpha1.Approval{overwriteApproval(func(a *v1alpha1.Approval) { a.Namespace = "other" })}, none},
		"two: the later one counts": {[]*v1alpha1.Approval{overwriteApproval(nil), overwriteApproval(func(a *v1alpha1.Approval) {
			a.Name, a.CreationTimestamp = "web-0", metav1.NewTime(now.Add(time.Hour))
			a.Spec.Overwrites = []v1alpha1.OverwrittenDelivery{{Cluster: "east", UID: "d-east", Generation: 9}}
		})}, map[string]*v1alpha1.DeliveryVersion{"east": {UID: "d-east", Generation: 9}, "west": {UID: "d-west", Generation: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			for _, a := range test.approvals {
				objects = append(objects, a)
			}
			_, c := host(t, nil, objects...)
			approvals, err := listApprovals(t.Context(), c, v1alpha1.Identity(wrapper("u", "1", 1)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, overwritesOf(approvals)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhichWrapperAnApprovalWakes(t *testing.T) {
	cluster := func(namespace string) *v1alpha1.Approval {
		return overwriteApproval(func(a *v1alpha1.Approval) {
			a.Namespace, a.Spec.Wrapper.Kind = namespace, v1alpha1.KindClusterFederated
		})
	}
	for name, test := range map[string]struct {
		kind     v1alpha1.WrapperKind
		approval *v1alpha1.Approval
		want     []reconcile.Request
	}{
		"an Approval enqueues its wrapper":                              {v1alpha1.KindFederated, overwriteApproval(nil), []reconcile.Request{{NamespacedName: web.NamespacedName}}},
		"an Approval enqueues no wrapper of the other scope":            {v1alpha1.KindClusterFederated, overwriteApproval(nil), nil},
		"an Approval in fairlead-system enqueues its ClusterFederated":  {v1alpha1.KindClusterFederated, cluster(v1alpha1.SystemNamespace), []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "web"}}}},
		"an Approval in another namespace enqueues no ClusterFederated": {v1alpha1.KindClusterFederated, cluster("shop"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := host(t, nil)
			r.kind = test.kind
			if diff := cmp.Diff(test.want, r.approved(t.Context(), test.approval)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
