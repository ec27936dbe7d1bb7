// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
)

const (
	// maxPods is the largest number of pods of a workload that the Reader reads, and maxReplicaSets the largest number of ReplicaSets of
	// a Deployment. The Reader does not find a cause that shows only in later pods. The line then has only the workload's own status.
	maxPods        = 100
	maxReplicaSets = 250
	// livePods selects pods that have not ended.
	livePods = "status.phase!=Failed,status.phase!=Succeeded"
)

var (
	podsGVR        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	deploymentsGVR = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	replicaSetsGVR = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "replicasets"}
)

type podList struct {
	Items []health.PodObject `json:"items"`
}

// belongings are the pods of an object, and the objects between it and its pods.
type belongings struct {
	pods []health.PodObject
	// between are the uids of the Deployments of an operator, and of the ReplicaSets of the present revision of each Deployment.
	between []types.UID
}

// belongingsOf reads the pods that belong to an object. csv is the ClusterServiceVersion of a Subscription, or nil.
func (r *Reader) belongingsOf(ctx context.Context, obj, csv *unstructured.Unstructured) (belongings, error) {
	switch gk := obj.GroupVersionKind().GroupKind(); gk {
	case schema.GroupKind{Kind: "Pod"}:
		var pod health.PodObject
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &pod); err != nil {
			return belongings{}, fmt.Errorf("decoding the Pod: %w", err)
		}
		return belongings{pods: []health.PodObject{pod}}, nil
	case upgrade.Subscription:
		return r.ofDeployments(ctx, csv, health.OperatorDeployments(csv))
	default:
		return r.ofWorkload(ctx, obj)
	}
}

// ofDeployments reads the Deployments with these names that OLM made of a CSV, and their pods. OLM makes the CSV their owner.
func (r *Reader) ofDeployments(ctx context.Context, csv *unstructured.Unstructured, names []string) (belongings, error) {
	var all belongings
	for _, name := range names {
		deployment, err := r.client.Read(ctx, deploymentsGVR, csv.GetNamespace(), name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return belongings{}, err
		}
		if !owns(csv.GetUID(), deployment.GetOwnerReferences()) {
			continue
		}
		more, err := r.ofWorkload(ctx, deployment)
		if err != nil {
			return belongings{}, err
		}
		all.pods = append(all.pods, more.pods...)
		all.between = append(append(all.between, deployment.GetUID()), more.between...)
	}
	return all, nil
}

// ofWorkload reads the pods that a workload's selector selects. Of these it returns the pods that the workload controls.
func (r *Reader) ofWorkload(ctx context.Context, obj *unstructured.Unstructured) (belongings, error) {
	selector, ok := health.PodSelector(obj)
	if !ok {
		return belongings{}, nil
	}
	var all belongings
	selected := metav1.ListOptions{LabelSelector: selector.String(), Limit: maxReplicaSets}
	owners := []types.UID{obj.GetUID()}
	if health.HasReplicaSets(obj) {
		var err error
		if owners, err = r.currentReplicaSets(ctx, obj, selected); err != nil || len(owners) == 0 {
			return belongings{}, err
		}
		all.between = owners
	}
	selected.Limit = maxPods
	if health.ReplacesPods(obj) {
		selected.FieldSelector = livePods
	}
	var list podList
	if err := r.client.List(ctx, podsGVR, obj.GetNamespace(), selected, memberclient.WholeObjects, &list); err != nil {
		return belongings{}, err
	}
	for i := range list.Items[:min(len(list.Items), maxPods)] {
		if p := &list.Items[i]; slices.Contains(owners, p.Owner()) && p.Metadata.Namespace == obj.GetNamespace() {
			all.pods = append(all.pods, *p)
		}
	}
	return all, nil
}

// currentReplicaSets returns the uids of the ReplicaSets of a Deployment's present revision.
func (r *Reader) currentReplicaSets(ctx context.Context, deployment *unstructured.Unstructured, selected metav1.ListOptions) ([]types.UID, error) {
	var list metav1.PartialObjectMetadataList
	if err := r.client.List(ctx, replicaSetsGVR, deployment.GetNamespace(), selected, memberclient.MetadataOnly, &list); err != nil {
		return nil, err
	}
	var uids []types.UID
	for i := range list.Items[:min(len(list.Items), maxReplicaSets)] {
		set := &list.Items[i]
		if c := metav1.GetControllerOf(set); c != nil && c.UID == deployment.GetUID() && health.IsCurrent(deployment, set.ObjectMeta) {
			uids = append(uids, set.UID)
		}
	}
	return uids, nil
}

func owns(owner types.UID, references []metav1.OwnerReference) bool {
	for _, ref := range references {
		if ref.UID == owner {
			return true
		}
	}
	return false
}
