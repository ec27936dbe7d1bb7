// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
)

// pendingPods selects pods that wait for a node, a volume or an image.
const pendingPods = "status.phase=" + string(corev1.PodPending)

var claimKind = schema.GroupKind{Kind: "PersistentVolumeClaim"}

// maxClaims is the largest number of claims whose events are evidence about the pods that wait for them.
const maxClaims = 3

// claims selects the events of the claims that pending pods mount, at most maxClaims. Such a claim need not be in the wrapper: a StatefulSet
// makes one for each of its pods. It selects by name, because a pod does not have the uids of its claims.
func claims(pods []*health.PodObject) (selectors []fields.Selector) {
	var names []string
	for _, p := range pods {
		for _, name := range p.PendingClaims() {
			if !slices.Contains(names, name) && len(names) < maxClaims {
				names = append(names, name)
				selectors = append(selectors, fields.AndSelectors(
					fields.OneTermEqualSelector("involvedObject.kind", claimKind.Kind), fields.OneTermEqualSelector("involvedObject.name", name)))
			}
		}
	}
	return selectors
}

// consumers returns the uids of at most three pods that mount a claim and do not run yet, the newest first. It looks at no more than a hundred
// pods of the namespace. For an object of another kind it returns none, and also if the pods cannot be listed: the events of the claim
// itself are worth more than those of its pods.
func (r *Reader) consumers(ctx context.Context, obj *unstructured.Unstructured) []types.UID {
	if obj.GroupVersionKind().GroupKind() != claimKind {
		return nil
	}
	var list podList
	err := r.client.List(ctx, podsGVR, obj.GetNamespace(), metav1.ListOptions{FieldSelector: pendingPods, Limit: maxPods}, memberclient.WholeObjects, &list)
	if err != nil {
		return nil
	}
	pods := list.Items[:min(len(list.Items), maxPods)]
	slices.SortFunc(pods, func(a, b health.PodObject) int {
		return cmp.Or(b.Metadata.CreationTimestamp.Compare(a.Metadata.CreationTimestamp.Time), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	var uids []types.UID
	for i := range pods {
		p := &pods[i]
		isThere := p.Metadata.Namespace == obj.GetNamespace() && p.Metadata.DeletionTimestamp == nil
		if isThere && p.Mounts(obj.GetName()) && len(uids) < maxTroubledPods {
			uids = append(uids, p.Metadata.UID)
		}
	}
	return uids
}
