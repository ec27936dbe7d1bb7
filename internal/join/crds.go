// SPDX-License-Identifier: Apache-2.0

package join

import (
	"context"
	"errors"

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
	"github.com/fairlead-dev/fairlead/internal/version"
)

// MemberCRDs returns the names of the CRDs that a join installs on a member.
func MemberCRDs() []string { return []string{crdDeliveries, crdMemberships} }

// putCRD applies one of Fairlead's CRDs and waits until the API server serves it. If a newer hostctl applied the CRD,
// putCRD changes nothing, and newer is the version of that hostctl. An older CRD may lack fields, and the API server would
// drop the values that a newer host writes into them.
func (w writer) putCRD(ctx context.Context, name string) (outcome Outcome, newer string, err error) {
	there := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	outcome, newer, err = w.applyCRD(ctx, there)
	if err != nil || w.dry || newer != "" {
		return outcome, newer, wrapf(err, "applying CRD %s to %s", name, w.cluster)
	}
	err = wait.PollUntilContextTimeout(ctx, pollEvery, establishedTimeout, true, func(ctx context.Context) (bool, error) {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(there), there)
		return established(there), client.IgnoreNotFound(err)
	})
	return outcome, "", wrapf(err, "waiting for CRD %s to be served by %s", name, w.cluster)
}

func (w writer) applyCRD(ctx context.Context, there *apiextensionsv1.CustomResourceDefinition) (_ Outcome, newer string, _ error) {
	outcome := Configured
	switch err := w.get(ctx, there); {
	case errors.Is(err, errAbsent):
		outcome = Created
	case err != nil:
		return "", "", err
	case there.DeletionTimestamp != nil:
		outcome = Created
		if err := w.awaitGone(ctx, there); err != nil {
			return "", "", err
		}
	}
	crd, err := config.CustomResourceDefinition(there.Name)
	if err != nil {
		return "", "", err
	}
	if outcome != Created {
		if newer, err = newerCRD(crd, there); err != nil || newer != "" {
			return Unchanged, newer, err
		}
	}
	annotations := crd.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string)
	}
	annotations[v1alpha1.AnnotationVersion] = version.String()
	crd.SetAnnotations(annotations)
	opts := []client.ApplyOption{client.FieldOwner(fieldManager), client.ForceOwnership}
	if w.dry {
		opts = append(opts, client.DryRunAll)
	}
	if err := w.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(crd), opts...); err != nil {
		return "", "", err
	}
	if outcome == Created {
		return Created, "", nil
	}
	// An apply that changes nothing leaves the resourceVersion as it is. A dry run never changes the resourceVersion, so
	// after a dry run applyCRD compares the contents.
	after := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, after); err != nil {
		return "", "", err
	}
	same := after.ResourceVersion == there.ResourceVersion
	if w.dry {
		same = equality.Semantic.DeepEqual(after.Spec, there.Spec) && equality.Semantic.DeepEqual(after.Annotations, there.Annotations)
	}
	if same {
		return Unchanged, "", nil
	}
	return Configured, "", nil
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
