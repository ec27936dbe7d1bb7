// SPDX-License-Identifier: Apache-2.0

package memberinstall

import (
	"context"
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// applyDeployment writes a Deployment with server-side apply. cluster.Put compares the desired object with the object on the
// cluster, and would always find a difference, because the API server fills in defaults of a Deployment.
func applyDeployment(ctx context.Context, member cluster.Cluster, want *appsv1.Deployment) (steps.Outcome, error) {
	there := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: want.Namespace, Name: want.Name}}
	err := member.Get(ctx, there)
	if err == nil && there.DeletionTimestamp != nil {
		if err = member.AwaitGone(ctx, there); err == nil {
			err = cluster.ErrAbsent
		}
	}
	isNew := errors.Is(err, cluster.ErrAbsent)
	if err != nil && !isNew {
		return "", err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return "", err
	}
	delete(content, "status")
	applied := &unstructured.Unstructured{Object: content}
	err = member.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), member.ApplyOptions()...)
	switch {
	case isNew && member.DryRun && cluster.Absent(err): // the namespace does not exist, because a dry run does not create it
		return steps.Created, nil
	case err != nil:
		return "", err
	case isNew:
		return steps.Created, nil
	}
	after := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(applied.Object, after); err != nil {
		return "", err
	}
	if after.ResourceVersion == there.ResourceVersion ||
		member.DryRun && equality.Semantic.DeepEqual(after.Spec, there.Spec) && equality.Semantic.DeepEqual(after.Labels, there.Labels) {
		return steps.Unchanged, nil
	}
	return steps.Configured, nil
}
