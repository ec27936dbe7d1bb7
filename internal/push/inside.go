// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/discovery"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// otherThingsInside says what would go with a Namespace or a CRD that is not this wrapper's own, nil
// when nothing would. Deleting either deletes what is in it, whoever made that.
func (p *pass) otherThingsInside(ctx context.Context, r *removal, found *metav1.PartialObjectMetadata) (*trouble, error) {
	var inside []schema.GroupVersionResource
	namespace := ""
	var err error
	switch r.groupKind() {
	case schema.GroupKind{Kind: "Namespace"}:
		namespace = found.Name
		inside, err = p.namespacedResources(ctx)
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}:
		inside, err = p.resourceOf(ctx, found.Name)
	default:
		return nil, nil
	}
	if errors.Is(err, errNotServed) || err != nil && (answered(err) || isAway(err)) {
		t := stalled(v1alpha1.ReasonNotEmpty,
			"%s is not deleted: what is in it cannot be found out (%s); mend that, or set onDelete: KeepData", r, err)
		return &t, nil
	}
	if err != nil {
		return nil, fmt.Errorf("finding out what is in %s on member %s: %w", r, p.conn.Name(), err)
	}
	var names []string
	unheard := false
	for _, gvr := range inside {
		others, err := p.others(ctx, gvr, namespace)
		if apierrors.IsNotFound(err) {
			// It was served a moment ago: its objects may still be there, and go with what holds them.
			others, err, unheard = []string{gvr.Resource + " (they are not served any more)"}, nil, true
		}
		if err != nil {
			return nil, fmt.Errorf("finding out what is in %s on member %s: %w", r, p.conn.Name(), err)
		}
		names = append(names, others...)
		if len(names) > 3 {
			break
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	t := stalled(v1alpha1.ReasonNotEmpty, "%s is not deleted: in it are others' things (%s); move them, or set onDelete: KeepData",
		r, strings.Join(names[:min(3, len(names))], ", "))
	if unheard {
		t.retry = retrySoon
	}
	return &t, nil
}

func (p *pass) namespacedResources(ctx context.Context) ([]schema.GroupVersionResource, error) {
	collections, err := discovery.Listable(ctx, p.conn.REST(), true)
	all := make([]schema.GroupVersionResource, 0, len(collections))
	for _, c := range collections {
		all = append(all, c.GroupVersionResource)
	}
	return all, err
}

// others are names of objects of a resource that this wrapper did not push. What cannot be listed
// counts as there: nothing is deleted on ignorance. An error may say that the resource is not served.
func (p *pass) others(ctx context.Context, gvr schema.GroupVersionResource, namespace string) ([]string, error) {
	answer, err := member.Do(ctx, p.conn.REST().Get().AbsPath(member.Path(gvr, namespace, "")...).
		Param("labelSelector", v1alpha1.LabelUID+"!="+string(p.want.Wrapper.UID)).Param("limit", "10"), false)
	switch {
	case apierrors.IsMethodNotSupported(err):
		return nil, nil
	case apierrors.IsNotFound(err):
		return nil, err
	case err != nil && (answered(err) || apierrors.IsServiceUnavailable(err)):
		return []string{gvr.Resource + " (they cannot be listed: " + err.Error() + ")"}, nil
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

// madeByKubernetes are the things that come with every namespace.
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

// errNotServed: objects of a CRD may be there that nobody can list.
var errNotServed = errors.New("no version of it is served")

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

func (p *pass) resourceOf(ctx context.Context, crd string) ([]schema.GroupVersionResource, error) {
	answer, err := member.Do(ctx, p.conn.REST().Get().AbsPath(member.Path(crds, "", crd)...), false)
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
