// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// replicasManager is the field manager that owns spec.replicas on the member when the wrapper does not set that field.
const replicasManager = v1alpha1.FieldManager + "-replicas"

// scales reports whether objects of a kind have spec.replicas, which another client such as an HPA may control.
func scales(gk schema.GroupKind) bool {
	switch gk {
	case schema.GroupKind{Group: "apps", Kind: "Deployment"}, schema.GroupKind{Group: "apps", Kind: "StatefulSet"},
		schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, schema.GroupKind{Kind: "ReplicationController"}:
		return true
	}
	return false
}

// replicas keeps the number of replicas of workloads whose wrapper does not set it.
type replicas struct{ objects *objects }

// handOver keeps the number of replicas on the member when the author removes spec.replicas from the wrapper.
// An apply without the field would make the API server set the default, 1 replica, even if an HPA controls the number.
// So the manager first applies the present number under another field manager (replicasManager), which then owns the
// field.
func (r *replicas) handOver(ctx context.Context, it *item, uid types.UID) error {
	if !it.mayGiveReplicas() {
		return nil
	}
	live, err := r.objects.read(ctx, it)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		if memberapi.Answered(err) {
			return nil
		}
		return fmt.Errorf("reading the replicas of %s on member %s: %w", it, r.objects.conn.Name(), err)
	}
	liveSpec, _ := live.Object["spec"].(map[string]any)
	number, there := liveSpec["replicas"]
	if live.GetUID() != uid || !there || !ownsReplicas(live.GetManagedFields()) {
		return nil
	}
	return r.give(ctx, it, uid, number)
}

// mayGiveReplicas reports whether handOver may have to act: the kind has spec.replicas, and the rendered object
// does not set it.
func (i *item) mayGiveReplicas() bool {
	if !scales(i.groupKind()) {
		return false
	}
	wanted, err := i.object.Unstructured()
	if err != nil {
		return true // the apply reports this error
	}
	spec, _ := wanted.Object["spec"].(map[string]any) // a workload without a spec has no replicas either
	_, named := spec["replicas"]
	return !named
}

func ownsReplicas(entries []metav1.ManagedFieldsEntry) bool {
	fields := marks.Fields(entries)
	return fields != nil && bytes.Contains(fields.GetRawBytes(), []byte(`"f:replicas"`))
}

func (r *replicas) give(ctx context.Context, it *item, uid types.UID, number any) error {
	body, err := json.Marshal(map[string]any{
		"apiVersion": it.object.GVK.GroupVersion().String(),
		"kind":       it.object.GVK.Kind,
		"metadata":   map[string]any{"name": it.object.Name, "namespace": it.object.Namespace, "uid": uid},
		"spec":       map[string]any{"replicas": number},
	})
	if err != nil {
		return fmt.Errorf("encoding the replicas of %s: %w", it, err)
	}
	_, err = member.Do(ctx, r.objects.conn.REST().Patch(types.ApplyPatchType).AbsPath(it.path()...).
		Param("fieldManager", replicasManager).Param("force", "true").Body(body), true)
	if err != nil && !memberapi.Answered(err) {
		return fmt.Errorf("keeping the replicas of %s on member %s: %w", it, r.objects.conn.Name(), err)
	}
	return nil
}
