// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"errors"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/install/manifests"
)

// kinds are the resources of Fairlead's CRDs. A host has not all of them: some are for members.
var kinds = []string{"approvals", "clusterfederateds", "deliveries", "federateds", "memberclusters", "memberreports", "memberships"}

// system reads what belongs to the host as a whole, and to no single wrapper: Fairlead's installation, and the members.
type system struct {
	parts *collection
	// images are the images of Fairlead's pods. The list is empty if hostctl could not read the pods.
	images []string
}

// collect reads CRDs, webhooks, members and the namespace of the manager.
func (s *system) collect(ctx context.Context) error {
	const within = " in namespace " + v1alpha1.SystemNamespace
	in := client.InNamespace(v1alpha1.SystemNamespace)
	list := func(what, file string, version schema.GroupVersion, kind string) func() error {
		return func() error { return s.parts.grouped(ctx, what+within, file, listOf(version, kind), in) }
	}
	return inOrder(
		func() error { return s.definitions(ctx) },
		func() error { return s.webhooks(ctx) },
		list("deployments", "deployments.yaml", appsv1.SchemeGroupVersion, "Deployment"),
		list("leases", "leases.yaml", coordinationv1.SchemeGroupVersion, "Lease"),
		func() error { return s.parts.grouped(ctx, "events"+within, "events-all.yaml", listOfEvents, in) },
		func() error {
			return s.names(ctx, "the names of configmaps"+within, "configmaps.yaml", metadataOf(corev1.SchemeGroupVersion, "ConfigMap"), nameOf)
		},
		func() error {
			return s.names(ctx, "the names of secrets and of their keys"+within, "secrets.yaml", listOf(corev1.SchemeGroupVersion, "Secret"), keysOf)
		},
		func() error { return s.pods(ctx) },
		func() error {
			return s.parts.part(ctx, "memberclusters", func() error {
				return s.parts.each(ctx, "memberclusters", s.parts.limits.Objects, listOf(v1alpha1.GroupVersion, "MemberCluster"), func(obj map[string]any) error {
					return s.parts.addObject("cluster/memberclusters/"+(&unstructured.Unstructured{Object: obj}).GetName()+".yaml", obj)
				})
			})
		},
	)
}

// definitions reads the versions of Fairlead's CRDs.
func (s *system) definitions(ctx context.Context) error {
	return s.parts.part(ctx, "customresourcedefinitions of Fairlead", func() error {
		found := []any{}
		for _, kind := range kinds {
			crd := &unstructured.Unstructured{}
			crd.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
			name := kind + "." + v1alpha1.Group
			err := s.parts.host.Get(ctx, client.ObjectKey{Name: name}, crd)
			switch {
			case apierrors.IsNotFound(err):
				found = append(found, map[string]any{"name": name, "installed": false})
				continue
			case err != nil:
				return err
			}
			found = append(found, s.parts.redaction.value(place{}, definition(crd)))
		}
		return s.parts.addYAML("cluster/customresourcedefinitions.yaml", found)
	})
}

// definition returns the versions of a CRD, without its schemas.
func definition(crd *unstructured.Unstructured) map[string]any {
	versions := []any{}
	all, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for i := range all {
		if v, ok := all[i].(map[string]any); ok {
			versions = append(versions, map[string]any{"name": v["name"], "served": v["served"], "storage": v["storage"]})
		}
	}
	stored, _, _ := unstructured.NestedSlice(crd.Object, "status", "storedVersions")
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	return map[string]any{"name": crd.GetName(), "generation": crd.GetGeneration(), "fairlead": crd.GetAnnotations()[v1alpha1.AnnotationVersion],
		"versions": versions, "storedVersions": stored, "conditions": conditions}
}

// webhooks reads the configurations of Fairlead's webhooks.
func (s *system) webhooks(ctx context.Context) error {
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		if err := s.parts.part(ctx, kind+" "+manifests.Webhook, func() error {
			obj := &unstructured.Unstructured{}
			obj.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(kind))
			if err := s.parts.host.Get(ctx, client.ObjectKey{Name: manifests.Webhook}, obj); err != nil {
				return err
			}
			return s.parts.addObject("cluster/"+kind+".yaml", obj.Object)
		}); err != nil {
			return err
		}
	}
	return nil
}

// names reads a list of objects, and writes one file. The file must have only a part of each object, for example its name. The parameter
// of is the function that returns this part.
func (s *system) names(ctx context.Context, what, file string, list func() client.ObjectList, of func(unstructured.Unstructured) map[string]any) error {
	return s.parts.part(ctx, what, func() error {
		found := []any{}
		err := s.parts.each(ctx, what, s.parts.limits.Objects, list, func(obj map[string]any) error {
			found = append(found, s.parts.redaction.value(place{}, of(unstructured.Unstructured{Object: obj})))
			return nil
		}, client.InNamespace(v1alpha1.SystemNamespace))
		return errors.Join(err, s.parts.addYAML(folderOf(v1alpha1.SystemNamespace)+file, found))
	})
}

func nameOf(obj unstructured.Unstructured) map[string]any {
	return map[string]any{"name": obj.GetName()}
}

// keysOf returns the name and the type of a Secret, and the names of its keys.
func keysOf(secret unstructured.Unstructured) map[string]any {
	data, _, _ := unstructured.NestedMap(secret.Object, "data")
	keys := []any{}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		keys = append(keys, key)
	}
	return map[string]any{"name": secret.GetName(), "type": secret.Object["type"], "keys": keys}
}
