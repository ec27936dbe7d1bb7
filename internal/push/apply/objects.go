// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// objects makes the requests about the objects of one wrapper.
type objects struct {
	conn    *member.Conn
	wrapper *v1alpha1.WrapperIdentity
}

// stamped is the body of an apply: the rendering with our marks, and the uid and resourceVersion that
// the object must have where they are not empty.
func (o *objects) stamped(it *item, uid types.UID, resourceVersion string) ([]byte, error) {
	obj, err := it.object.Unstructured()
	if err != nil {
		return nil, err
	}
	o.stamp(it, obj)
	obj.SetUID(uid)
	obj.SetResourceVersion(resourceVersion)
	return obj.MarshalJSON()
}

// stamp writes the item's marks on an object.
func (o *objects) stamp(it *item, obj *unstructured.Unstructured) {
	w := o.wrapper
	marks.Stamp(obj, marks.Marks{
		UID: w.UID, Wrapper: marks.WrapperPath(w.Kind, w.Namespace, w.Name),
		Object: it.mark(), Rendering: it.object.Digest,
	})
}

func (o *objects) request(it *item, body []byte, force bool) *rest.Request {
	return o.conn.REST().Patch(types.ApplyPatchType).AbsPath(it.path()...).
		Param("fieldManager", v1alpha1.FieldManager).
		Param("force", strconv.FormatBool(force)).
		Body(body)
}

// whole reads an object.
func (o *objects) whole(ctx context.Context, it *item) (*unstructured.Unstructured, error) {
	answer, err := member.Do(ctx, o.conn.REST().Get().AbsPath(it.path()...), false)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, answer.Into(obj)
}

// rehearse makes the very apply as a dry run.
func (o *objects) rehearse(ctx context.Context, it *item, body []byte) (*unstructured.Unstructured, error) {
	answer, err := member.Do(ctx, o.request(it, body, true).Param("dryRun", metav1.DryRunAll), false)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, answer.Into(obj)
}

// item is one wanted object on its way.
type item struct {
	object  *render.Object
	mapping *meta.RESTMapping
	// entry is what the inventory will say of it.
	entry v1alpha1.InventoryEntry
	// recorded is whether the Delivery had it Applied, with a uid: then it is ours without looking.
	recorded bool
	// due is whether it has to be applied. Set by intend, taken back by a successful apply.
	due bool
	// version is the resourceVersion that an apply brought back; "" where there was none.
	version string
	// refused is whether it must not or cannot be applied now; trouble says why.
	refused bool
}

func (i *item) id() plan.ObjectID { return plan.IDOf(&i.entry) }

// isMissing reports whether the object does not stand as it is wanted.
func (i *item) isMissing() bool { return i.due || i.refused }

func (i *item) groupKind() schema.GroupKind { return i.object.GVK.GroupKind() }

func (i *item) isNamespace() bool { return i.groupKind() == schema.GroupKind{Kind: "Namespace"} }

// record notes what an apply brought back.
func (i *item) record(answer member.Answer) error {
	there := metav1.PartialObjectMetadata{}
	if err := answer.Into(&there); err != nil {
		return fmt.Errorf("reading what applying %s brought back: %w", i, err)
	}
	i.entry.State = v1alpha1.EntryApplied
	i.entry.UID, i.entry.Fields = there.UID, marks.FieldsDigest(there.ManagedFields)
	i.recorded, i.due, i.version = true, false, there.ResourceVersion
	return nil
}

// String names the item as messages do.
func (i *item) String() string { return memberapi.Ref(i.entry.Kind, i.entry.Name) }

func (i *item) path() []string {
	return member.Path(i.mapping.Resource, i.object.Namespace, i.object.Name)
}

// mark is the item's own AnnotationObject.
func (i *item) mark() string {
	return marks.ObjectPath(i.entry.Resource, i.entry.Group, i.object.Namespace, i.object.Name)
}
