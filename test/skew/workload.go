// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/test/e2e/provider/kindclusters"
)

const (
	// workloadNamespace has the workload: a wrapper with a Deployment, which no user changes.
	workloadNamespace = "skew-workload"
	workloadName      = "web"
	// workloadPods is the number of replicas of the Deployment.
	workloadPods = 2
)

// workload is what must stay as it is on a member while Fairlead changes its version.
type workload struct {
	// deployment and generation are the uid and the generation of the Deployment.
	deployment types.UID
	generation int64
	// applied is when one of Fairlead's field managers last changed a field of the Deployment, as its managedFields say.
	applied time.Time
	// pods has a line for each pod, with its uid and how often its containers restarted.
	pods []string
}

// createWorkload creates the wrapper of the workload. The pods run the image of the test pods in clusters of kind. In a sandbox, KWOK only
// says that they run.
func createWorkload(ctx context.Context, host client.Client) error {
	if err := host.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: workloadNamespace}}); err != nil {
		return err
	}
	deployment := build.Manifest(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: %[3]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      containers: [{name: app, image: %[2]q, imagePullPolicy: Never, args: [serve]}]
`, workloadName, kindclusters.PodImage, workloadPods)
	return createWrapper(ctx, host, build.Federated(workloadName).In(workloadNamespace).With(deployment).ToMatching().Obj())
}

// workloadIsReady reports whether the wrapper of the workload is Ready.
func (f *fleet) workloadIsReady(ctx context.Context) (bool, error) {
	w := &v1alpha1.Federated{}
	err := f.host.Get(ctx, client.ObjectKey{Namespace: workloadNamespace, Name: workloadName}, w)
	return isReady(w), err
}

// workloadOn reads the workload of a member; nil if the member has no Deployment of it.
func workloadOn(ctx context.Context, member client.Reader) (*workload, error) {
	d := &appsv1.Deployment{}
	err := member.Get(ctx, client.ObjectKey{Namespace: workloadNamespace, Name: workloadName}, d)
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // absent is not an error
	}
	if err != nil {
		return nil, err
	}
	is := &workload{deployment: d.UID, generation: d.Generation}
	for _, e := range d.ManagedFields {
		isOurs := e.Manager == v1alpha1.FieldManager || strings.HasPrefix(e.Manager, v1alpha1.FieldManager+"-")
		if isOurs && e.Time != nil && e.Time.After(is.applied) {
			is.applied = e.Time.Time
		}
	}
	pods := &corev1.PodList{}
	if err := member.List(ctx, pods, client.InNamespace(workloadNamespace)); err != nil {
		return nil, err
	}
	for i := range pods.Items {
		restarts := int32(0)
		for _, c := range pods.Items[i].Status.ContainerStatuses {
			restarts += c.RestartCount
		}
		is.pods = append(is.pods, fmt.Sprintf("%s restarted %d times", pods.Items[i].UID, restarts))
	}
	slices.Sort(is.pods)
	return is, nil
}

// difference tells how the workload differs from what it was; "" if it does not.
func (was *workload) difference(is *workload) string {
	switch {
	case is == nil:
		return "is missing"
	case is.deployment != was.deployment:
		return "was created again"
	case is.generation != was.generation:
		return fmt.Sprintf("has generation %d, and had %d", is.generation, was.generation)
	case is.applied.IsZero():
		return "has no fields of Fairlead any more"
	case !is.applied.Equal(was.applied):
		return fmt.Sprintf("was written by Fairlead at %s", is.applied.Format(time.RFC3339))
	case !slices.Equal(is.pods, was.pods):
		return fmt.Sprintf("has other pods: %s; before: %s", strings.Join(is.pods, ", "), strings.Join(was.pods, ", "))
	}
	return ""
}
