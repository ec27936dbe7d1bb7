// SPDX-License-Identifier: Apache-2.0

package memberinstall

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/crdfields"
	"github.com/fairlead-dev/fairlead/internal/join/cluster"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
	"github.com/fairlead-dev/fairlead/internal/version"
)

// establishedTimeout is how long a join waits until the API server serves a CRD.
const establishedTimeout = 30 * time.Second

// putCRD applies one of Fairlead's CRDs and waits until the API server serves it. If a newer hostctl applied the CRD,
// putCRD changes nothing, and newer is the version of that hostctl. An older CRD may lack fields, and the API server would
// drop the values that a newer host writes into them.
func putCRD(ctx context.Context, member cluster.Cluster, name string) (outcome steps.Outcome, newer string, err error) {
	there := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	outcome, newer, err = applyCRD(ctx, member, there)
	if err != nil {
		return outcome, newer, fmt.Errorf("applying CRD %s to %s: %w", name, member.Name, err)
	}
	if member.DryRun || newer != "" {
		return outcome, newer, nil
	}
	err = wait.PollUntilContextTimeout(ctx, cluster.PollEvery, establishedTimeout, true, func(ctx context.Context) (bool, error) {
		err := member.Client.Get(ctx, client.ObjectKeyFromObject(there), there)
		return established(there), client.IgnoreNotFound(err)
	})
	if err != nil {
		return outcome, "", fmt.Errorf("waiting for CRD %s to be served by %s: %w", name, member.Name, err)
	}
	return outcome, "", nil
}

func applyCRD(ctx context.Context, member cluster.Cluster, there *apiextensionsv1.CustomResourceDefinition) (_ steps.Outcome, newer string, _ error) {
	outcome := steps.Configured
	switch err := member.Get(ctx, there); {
	case errors.Is(err, cluster.ErrAbsent):
		outcome = steps.Created
	case err != nil:
		return "", "", err
	case there.DeletionTimestamp != nil:
		outcome = steps.Created
		if err := member.AwaitGone(ctx, there); err != nil {
			return "", "", err
		}
	}
	crd, err := config.CustomResourceDefinition(there.Name)
	if err != nil {
		return "", "", err
	}
	if outcome != steps.Created {
		if newer, err = newerCRD(crd, there); err != nil || newer != "" {
			return steps.Unchanged, newer, err
		}
	}
	annotations := crd.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string)
	}
	annotations[v1alpha1.AnnotationVersion] = version.String()
	crd.SetAnnotations(annotations)
	if err := member.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(crd), member.ApplyOptions()...); err != nil {
		return "", "", err
	}
	if outcome == steps.Created {
		return steps.Created, "", nil
	}
	// An apply that changes nothing leaves the resourceVersion as it is. A dry run never changes the resourceVersion, so
	// after a dry run applyCRD compares the contents.
	after := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, after); err != nil {
		return "", "", err
	}
	same := after.ResourceVersion == there.ResourceVersion
	if member.DryRun {
		same = equality.Semantic.DeepEqual(after.Spec, there.Spec) && equality.Semantic.DeepEqual(after.Annotations, there.Annotations)
	}
	if same {
		return steps.Unchanged, "", nil
	}
	return steps.Configured, "", nil
}

// newerCRD returns the version of the hostctl that applied the CRD on the cluster, if that version is newer than this
// hostctl; else "". If the two versions cannot be compared, newerCRD compares the fields: the CRD on the cluster counts as
// newer if it has all fields of ours and more.
func newerCRD(ours *unstructured.Unstructured, there *apiextensionsv1.CustomResourceDefinition) (string, error) {
	theirs := there.Annotations[v1alpha1.AnnotationVersion]
	if order, err := version.Compare(theirs, version.String()); err == nil {
		if order > 0 {
			return theirs, nil
		}
		return "", nil
	}
	have, err := runtime.DefaultUnstructuredConverter.ToUnstructured(there)
	if err != nil {
		return "", err
	}
	if len(crdfields.Missing(have, ours.Object)) > 0 && len(crdfields.Missing(ours.Object, have)) == 0 {
		if theirs == "" {
			theirs = "of an unknown version"
		}
		return theirs, nil
	}
	return "", nil
}

func established(crd *apiextensionsv1.CustomResourceDefinition) bool {
	for _, c := range crd.Status.Conditions {
		if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
			return true
		}
	}
	return false
}
