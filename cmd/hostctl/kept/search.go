// SPDX-License-Identifier: Apache-2.0

package kept

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/federate/retention"
	"github.com/fairlead-dev/fairlead/internal/discovery"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// object is one that a member keeps. Its texts are plain, whatever the member says.
type object struct {
	member, why string
	// name is as kubectl takes it: <resource>.<group>/<name>.
	name string
}

// search is for the objects of one wrapper.
type search struct {
	// wrapper is the WrapperPath that the objects carry, delivery the name of its Delivery.
	wrapper, delivery string
	// namespace is the one that they are in; "" for objects without one.
	namespace string
}

// on lists what a member keeps, sorted. An error means that it may keep more: found is what could be read. unlisted is how many kinds the host may not list there: it did not write these
// either, unless its rights were narrowed since.
func (s search) on(ctx context.Context, conn *member.Conn) (found []object, unlisted int, err error) {
	listed, err := s.listed(ctx, conn)
	if err != nil {
		return nil, 0, err
	}
	kinds, unread := discovery.Listable(ctx, conn.REST(), s.namespace != "")
	if unread != nil {
		unread = fmt.Errorf("reading which kinds it serves: %w", unread)
	}
	for _, kind := range kinds {
		err := member.EachSelected(ctx, conn, member.Path(kind.GroupVersionResource, s.namespace, ""), v1alpha1.LabelUID, func(obj *metav1.PartialObjectMetadata) error {
			if s.isMarked(obj, kind) && !listed[identity{kind.GroupResource(), obj.Name}] {
				found = append(found, object{member: conn.Name(), why: why(obj, schema.GroupKind{Group: kind.Group, Kind: kind.Kind}),
					name: health.Clean(kind.GroupResource().String()+"/"+obj.Name, 512)})
			}
			return nil
		})
		switch {
		case apierrors.IsForbidden(err):
			unlisted++
		case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err): // it went since, or cannot be listed at all
		case err != nil && unread == nil:
			unread = fmt.Errorf("listing %s: %w", kind.GroupResource(), err)
		}
		if err := ctx.Err(); err != nil {
			return found, unlisted, err
		}
	}
	slices.SortFunc(found, func(a, b object) int { return cmp.Compare(a.name, b.name) })
	return found, unlisted, unread
}

// identity tells the objects of one wrapper apart.
type identity struct {
	schema.GroupResource
	name string
}

// listed are the objects that the wrapper's Delivery lists: these are in its care.
func (s search) listed(ctx context.Context, conn *member.Conn) (map[identity]bool, error) {
	answer, err := member.Do(ctx, conn.REST().Get().AbsPath(member.Path(v1alpha1.GroupVersion.WithResource("deliveries"),
		v1alpha1.SystemNamespace, s.delivery)...), false)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading its Delivery %s: %w", s.delivery, err)
	}
	delivery := &v1alpha1.Delivery{}
	if err := answer.Into(delivery); err != nil {
		return nil, fmt.Errorf("reading its Delivery %s: %w", s.delivery, err)
	}
	listed := make(map[identity]bool, len(delivery.Spec.Inventory))
	for i := range delivery.Spec.Inventory {
		e := &delivery.Spec.Inventory[i]
		listed[identity{schema.GroupResource{Group: e.Group, Resource: e.Resource}, e.Name}] = true
	}
	return listed, nil
}

// isMarked says whether the wrapper brought the object: labels and annotations get copied to what others make of it.
func (s search) isMarked(obj *metav1.PartialObjectMetadata, of discovery.Collection) bool {
	return obj.Annotations[v1alpha1.AnnotationWrapper] == s.wrapper &&
		marks.IsPushed(obj, marks.ObjectPath(of.Resource, of.Group, obj.Namespace, obj.Name))
}

// why says as much as the object itself tells.
func why(obj *metav1.PartialObjectMetadata, gk schema.GroupKind) string {
	keep := obj.Annotations[v1alpha1.AnnotationKeep]
	switch {
	case retention.IsKept(v1alpha1.KeepData, gk, keep):
		return retention.WhyKept(keep)
	case len(obj.Finalizers) > 0:
		return "finalizer " + health.Clean(obj.Finalizers[0], 64)
	}
	return "not recorded: onDelete: KeepAll, a claim that would go with it, or a release"
}
