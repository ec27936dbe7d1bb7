// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// checkRights asks the API server whether the user may write the objects, and may read what an installation reads. It
// returns a *RightsError that names every missing right.
func checkRights(ctx context.Context, c connection, objects []*unstructured.Unstructured) error {
	if ok, err := allowed(ctx, c, authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}); err != nil || ok {
		return explain(err, c.endpoint)
	}
	needed := []authorizationv1.ResourceAttributes{
		{Verb: "list", Group: "apps", Resource: "deployments"},
		{Verb: "list", Group: "apps", Resource: "replicasets", Namespace: systemNamespace},
		{Verb: "list", Resource: "pods", Namespace: systemNamespace},
		{Verb: "create", Resource: "pods", Namespace: systemNamespace},
		{Verb: "create", Group: v1alpha1.Group, Resource: "clusterfederateds"},
	}
	for _, obj := range append([]*unstructured.Unstructured{record{}.object()}, objects...) {
		resource, err := resourceOf(c, obj)
		if err != nil {
			return err
		}
		for _, verb := range []string{"get", "create", "patch"} {
			attributes := authorizationv1.ResourceAttributes{
				Verb: verb, Group: obj.GroupVersionKind().Group, Resource: resource, Namespace: obj.GetNamespace(),
			}
			if !slices.Contains(needed, attributes) {
				needed = append(needed, attributes)
			}
		}
	}
	pruning, err := rightsToPrune(c)
	if err != nil {
		return err
	}
	needed = append(needed, pruning...)
	missing := map[string][]string{}
	var order []string
	for _, attributes := range needed {
		ok, err := allowed(ctx, c, attributes)
		if err != nil {
			return explain(err, c.endpoint)
		}
		if ok {
			continue
		}
		what := attributes.Resource
		if attributes.Group != "" {
			what += "." + attributes.Group
		}
		if attributes.Namespace != "" {
			what += " in " + attributes.Namespace
		}
		if missing[what] == nil {
			order = append(order, what)
		}
		missing[what] = append(missing[what], attributes.Verb)
	}
	if len(order) == 0 {
		return nil
	}
	e := &RightsError{}
	for _, what := range order {
		e.Missing = append(e.Missing, strings.Join(missing[what], ", ")+" "+what)
	}
	return e
}

// rightsToPrune returns the rights that prune needs: to list objects of an earlier installation in all namespaces, and to
// delete them. It leaves out kinds that the cluster does not serve.
func rightsToPrune(c client.Client) (needed []authorizationv1.ResourceAttributes, err error) {
	for _, gvk := range prunable {
		mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
		if meta.IsNoMatchError(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking up %s: %w", gvk.Kind, err)
		}
		namespace := ""
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			namespace = systemNamespace
		}
		needed = append(needed,
			authorizationv1.ResourceAttributes{Verb: "list", Group: gvk.Group, Resource: mapping.Resource.Resource},
			authorizationv1.ResourceAttributes{Verb: "delete", Group: gvk.Group, Resource: mapping.Resource.Resource, Namespace: namespace})
	}
	return needed, nil
}

// resourceOf returns the resource of an object's kind. If the cluster does not serve the kind, the error names a remedy
// (see notServed).
func resourceOf(c connection, obj *unstructured.Unstructured) (string, error) {
	gvk := obj.GroupVersionKind()
	mapping, err := c.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return "", fmt.Errorf("looking up %s %s: %w", obj.GetKind(), obj.GetName(), notServed(err, obj))
	}
	return mapping.Resource.Resource, nil
}

func allowed(ctx context.Context, c client.Client, attributes authorizationv1.ResourceAttributes) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes}}
	err := c.Create(ctx, review)
	return err == nil && review.Status.Allowed, err
}

// checkRoles applies the roles as a dry run, because the API server refuses a role with rights that the user does not have.
// So the installation learns of a missing right before its first write. If the namespace does not exist yet, checkRoles
// leaves out Roles: their dry run would fail.
func (i *installer) checkRoles(ctx context.Context) error {
	missing := &RightsError{}
	for _, obj := range i.objects {
		if obj.GetKind() != "ClusterRole" && (obj.GetKind() != "Role" || !i.there.hasNamespace) {
			continue
		}
		err := i.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj.DeepCopy()), client.FieldOwner(FieldManager), client.ForceOwnership, client.DryRunAll)
		if apierrors.IsForbidden(err) {
			missing.Missing = append(missing.Missing, "the rights in "+describeObject(obj)+", because only a user who has them may grant them")
			continue
		}
		if err != nil {
			return fmt.Errorf("checking %s: %w", describeObject(obj), err)
		}
	}
	if len(missing.Missing) > 0 {
		return missing
	}
	return nil
}
