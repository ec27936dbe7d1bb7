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
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/discovery"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/intents"
)

// object is a kept object on a member. A member is not trusted, so control characters are removed from all its texts.
type object struct {
	member, why string
	// name is the object as kubectl names it: RESOURCE.GROUP/NAME.
	name string
}

// search has what identifies the kept objects of one wrapper.
type search struct {
	// wrapper is the path in the objects' annotation AnnotationWrapper. delivery is the name of the wrapper's Delivery.
	wrapper, delivery string
	// namespace is the objects' namespace; "" for cluster-scoped objects.
	namespace string
}

// on returns the kept objects on a member, sorted by name. If it cannot read everything, it returns both what it could read and an error.
// unlisted is the number of kinds that the host's account may not list on the member. The host has no kept objects of these
// kinds, unless an earlier join granted the host more.
func (s search) on(ctx context.Context, conn *member.Conn) (found []object, unlisted int, err error) {
	listed, err := s.listed(ctx, conn)
	if err != nil {
		return nil, 0, err
	}
	kinds, unread := discovery.Listable(ctx, conn.REST(), s.namespace != "")
	if unread != nil {
		unread = fmt.Errorf("reading which kinds the member serves: %w", unread)
	}
	for _, kind := range kinds {
		err := member.EachSelected(ctx, conn, member.Path(kind.GroupVersionResource, s.namespace, ""), v1alpha1.LabelUID, func(obj *metav1.PartialObjectMetadata) error {
			if s.isMarked(obj, kind) && !listed[resourceName{kind.GroupResource(), obj.Name}] {
				found = append(found, object{member: conn.Name(), why: why(obj, schema.GroupKind{Group: kind.Group, Kind: kind.Kind}),
					name: health.Clean(kind.GroupResource().String()+"/"+obj.Name, 512)})
			}
			return nil
		})
		switch {
		case apierrors.IsForbidden(err):
			unlisted++
		case apierrors.IsNotFound(err), apierrors.IsMethodNotSupported(err): // the kind has gone since hostctl read which kinds there are, or its objects cannot be listed
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

// resourceName identifies an object among the objects of one wrapper on one member. They all have the same namespace.
type resourceName struct {
	schema.GroupResource
	name string
}

// listed returns the objects that the wrapper's Delivery lists on a member, or the wrapper's entry in the list of shared intents. The
// manager still manages them, so they are not kept objects.
func (s search) listed(ctx context.Context, conn *member.Conn) (map[resourceName]bool, error) {
	// An entry leaves the list only when the Delivery lists its objects. So the list is read first.
	shared, err := readDelivery(ctx, conn, marks.SharedIntents)
	if err != nil {
		return nil, err
	}
	delivery, err := readDelivery(ctx, conn, s.delivery)
	if err != nil {
		return nil, err
	}
	listed := make(map[resourceName]bool)
	if shared != nil {
		entries, err := intents.Decode(shared.Annotations[intents.Annotation])
		if err != nil {
			return nil, fmt.Errorf("reading Delivery %s: %w", marks.SharedIntents, err)
		}
		for i := range entries {
			if deliveries.KeyOf(entries[i].Wrapper).Delivery() == s.delivery {
				addListed(listed, entries[i].Inventory)
			}
		}
	}
	if delivery != nil {
		addListed(listed, delivery.Spec.Inventory)
	}
	return listed, nil
}

func addListed(listed map[resourceName]bool, inventory []v1alpha1.InventoryEntry) {
	for i := range inventory {
		e := &inventory[i]
		listed[resourceName{schema.GroupResource{Group: e.Group, Resource: e.Resource}, e.Name}] = true
	}
}

// readDelivery reads a Delivery on a member; nil if the member has none of this name.
func readDelivery(ctx context.Context, conn *member.Conn, name string) (*v1alpha1.Delivery, error) {
	answer, err := member.Do(ctx, conn.REST().Get().AbsPath(deliveries.Path(name)...), false)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Delivery %s: %w", name, err)
	}
	delivery := &v1alpha1.Delivery{}
	if err := answer.Into(delivery); err != nil {
		return nil, fmt.Errorf("reading Delivery %s: %w", name, err)
	}
	return delivery, nil
}

// isMarked reports whether the manager pushed this very object for the wrapper. The annotation with the wrapper's path is no proof:
// controllers copy annotations to the objects that they create. So the annotation with the object's own path must fit, too.
func (s search) isMarked(obj *metav1.PartialObjectMetadata, of discovery.Collection) bool {
	return obj.Annotations[v1alpha1.AnnotationWrapper] == s.wrapper &&
		marks.IsPushed(obj, marks.ObjectPath(of.Resource, of.Group, obj.Namespace, obj.Name))
}

// why returns the reason why the manager kept the object. If the object does not show it, why returns the reasons that are possible.
func why(obj *metav1.PartialObjectMetadata, gk schema.GroupKind) string {
	keep := obj.Annotations[v1alpha1.AnnotationKeep]
	switch {
	case retention.IsKept(v1alpha1.KeepData, gk, keep):
		return retention.WhyKept(keep)
	case len(obj.Finalizers) > 0:
		return "finalizer " + health.Clean(obj.Finalizers[0], 64)
	}
	return "the reason is not recorded: onDelete was KeepAll, or a claim depends on the object, or the wrapper was released from the member"
}
