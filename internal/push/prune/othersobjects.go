// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/discovery"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// othersContents returns trouble that names objects of other clients that would be deleted with a Namespace or a CRD;
// nil if there are none. wrapper is the uid of the wrapper, whose own objects do not count.
func othersContents(
	ctx context.Context, conn *member.Conn, wrapper types.UID, r *Removal, found *metav1.PartialObjectMetadata,
) (*memberapi.Trouble, error) {
	var contents []schema.GroupVersionResource
	namespace := ""
	var err error
	switch r.GroupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		namespace = found.Name
		contents, err = namespacedResources(ctx, conn)
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		contents, err = resourceOf(ctx, conn, found.Name)
	default:
		return nil, nil
	}
	if errors.Is(err, errNotServed) || err != nil && (memberapi.Answered(err) || memberapi.IsAway(err)) {
		t := memberapi.Stalled(v1alpha1.ReasonNotEmpty,
			"%s is not deleted: the manager cannot list the objects that would be deleted with it (%s); repair that, or set spec.onDelete: KeepData", r, plan.Quote(err.Error()))
		return &t, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the objects that would be deleted with %s on member %s: %w", r, conn.Name(), err)
	}
	var names []string
	unserved := false
	for _, gvr := range contents {
		found, err := others(ctx, conn, gvr, namespace, wrapper)
		if apierrors.IsNotFound(err) {
			// The member served the resource a moment ago. Its objects may still exist, and would be deleted too.
			found, err, unserved = []string{gvr.Resource + " (the member does not serve them any more)"}, nil, true
		}
		if err != nil {
			return nil, fmt.Errorf("listing the objects that would be deleted with %s on member %s: %w", r, conn.Name(), err)
		}
		names = append(names, found...)
		if len(names) > 3 {
			break
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	t := memberapi.Stalled(v1alpha1.ReasonNotEmpty, "%s is not deleted: it contains objects of other clients (%s); move them, or set spec.onDelete: KeepData",
		r, strings.Join(names[:min(3, len(names))], ", "))
	if unserved {
		t.Retry = plan.RetrySoon
	}
	return &t, nil
}

func namespacedResources(ctx context.Context, conn *member.Conn) ([]schema.GroupVersionResource, error) {
	collections, err := discovery.Listable(ctx, conn.REST(), true)
	all := make([]schema.GroupVersionResource, 0, len(collections))
	for _, c := range collections {
		all = append(all, c.GroupVersionResource)
	}
	return all, err
}

// others returns the names of objects of a resource that this wrapper did not push; ten at most. If the API server
// refuses the list, others returns the reason in place of a name, so that the manager deletes nothing. A NotFound error
// means that the member does not serve the resource.
func others(ctx context.Context, conn *member.Conn, gvr schema.GroupVersionResource, namespace string, wrapper types.UID) ([]string, error) {
	answer, err := member.Do(ctx, conn.REST().Get().AbsPath(member.Path(gvr, namespace, "")...).
		Param("labelSelector", v1alpha1.LabelUID+"!="+string(wrapper)).Param("limit", "10"), false)
	switch {
	case apierrors.IsMethodNotSupported(err):
		return nil, nil
	case apierrors.IsNotFound(err):
		return nil, err
	case err != nil && (memberapi.Answered(err) || apierrors.IsServiceUnavailable(err)):
		return []string{gvr.Resource + " (the manager cannot list them: " + plan.Quote(err.Error()) + ")"}, nil
	case err != nil:
		return nil, err
	}
	list := &unstructured.UnstructuredList{}
	if err := list.UnmarshalJSON(answer.Body); err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		if !madeByKubernetes(gvr, &list.Items[i]) {
			names = append(names, gvr.Resource+"/"+list.Items[i].GetName())
		}
	}
	return names, nil
}

// madeByKubernetes reports whether Kubernetes itself created an object, as it does in every namespace.
func madeByKubernetes(gvr schema.GroupVersionResource, obj metav1.Object) bool {
	switch gvr.GroupResource() {
	case schema.GroupResource{Resource: "serviceaccounts"}:
		return obj.GetName() == "default"
	case schema.GroupResource{Resource: "configmaps"}:
		return obj.GetName() == "kube-root-ca.crt"
	case schema.GroupResource{Resource: "events"}, schema.GroupResource{Group: "events.k8s.io", Resource: "events"},
		schema.GroupResource{Resource: "endpoints"}, schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"},
		schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}:
		return true
	}
	return false
}

// errNotServed means that the member serves no version of a CRD. Its objects may exist, but no client can list them.
var errNotServed = errors.New("the member serves no version of it")

func resourceOf(ctx context.Context, conn *member.Conn, crd string) ([]schema.GroupVersionResource, error) {
	answer, err := member.Do(ctx, conn.REST().Get().AbsPath(memberapi.CRDPath(crd)...), false)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	read := struct {
		Spec struct {
			Group    string
			Names    struct{ Plural string }
			Versions []struct {
				Name   string
				Served bool
			}
		}
	}{}
	if err := answer.Into(&read); err != nil {
		return nil, err
	}
	for _, v := range read.Spec.Versions {
		if v.Served {
			return []schema.GroupVersionResource{{Group: read.Spec.Group, Version: v.Name, Resource: read.Spec.Names.Plural}}, nil
		}
	}
	return nil, errNotServed
}
