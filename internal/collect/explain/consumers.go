// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
)

// pendingPods selects pods that wait for a node, a volume or an image.
const pendingPods = "status.phase=" + string(corev1.PodPending)

var claimKind = schema.GroupKind{Kind: "PersistentVolumeClaim"}

// pendingPod has the fields of a pod that tell which claims it mounts.
type pendingPod struct {
	Metadata struct {
		Namespace         string       `json:"namespace"`
		Name              string       `json:"name"`
		UID               types.UID    `json:"uid"`
		CreationTimestamp metav1.Time  `json:"creationTimestamp"`
		DeletionTimestamp *metav1.Time `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		Volumes []struct {
			PersistentVolumeClaim struct {
				ClaimName string `json:"claimName"`
			} `json:"persistentVolumeClaim"`
		} `json:"volumes"`
	} `json:"spec"`
}

type pendingPodList struct {
	Items []pendingPod `json:"items"`
}

// waitsFor reports whether the pod mounts a claim. It returns false for a pod that is being deleted.
func (p *pendingPod) waitsFor(claim *unstructured.Unstructured) bool {
	if p.Metadata.Namespace != claim.GetNamespace() || p.Metadata.DeletionTimestamp != nil {
		return false
	}
	for i := range p.Spec.Volumes {
		if p.Spec.Volumes[i].PersistentVolumeClaim.ClaimName == claim.GetName() {
			return true
		}
	}
	return false
}

// consumers returns the uids of at most three pods that mount a claim and do not run yet, the newest first. It looks at no more than a hundred
// pods of the namespace. For an object of another kind it returns none, and also if the pods cannot be listed: the events of the claim
// itself are worth more than those of its pods.
func (r *Reader) consumers(ctx context.Context, obj *unstructured.Unstructured) []types.UID {
	if obj.GroupVersionKind().GroupKind() != claimKind {
		return nil
	}
	var list pendingPodList
	err := r.client.List(ctx, podsGVR, obj.GetNamespace(), metav1.ListOptions{FieldSelector: pendingPods, Limit: maxPods}, memberclient.WholeObjects, &list)
	if err != nil {
		return nil
	}
	pods := list.Items[:min(len(list.Items), maxPods)]
	slices.SortFunc(pods, func(a, b pendingPod) int {
		return cmp.Or(b.Metadata.CreationTimestamp.Compare(a.Metadata.CreationTimestamp.Time), cmp.Compare(a.Metadata.Name, b.Metadata.Name))
	})
	var uids []types.UID
	for i := range pods {
		if pods[i].waitsFor(obj) && len(uids) < maxTroubledPods {
			uids = append(uids, pods[i].Metadata.UID)
		}
	}
	return uids
}
