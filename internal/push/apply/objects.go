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

// stamped is the body of an apply: the rendering with Fairlead's marks. If uid or resourceVersion is not empty, the
// object must have it.
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

// read reads an object.
func (o *objects) read(ctx context.Context, it *item) (*unstructured.Unstructured, error) {
	answer, err := member.Do(ctx, o.conn.REST().Get().AbsPath(it.path()...), false)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, answer.Into(obj)
}

// dryRun sends an apply as a dry run.
func (o *objects) dryRun(ctx context.Context, it *item, body []byte) (*unstructured.Unstructured, error) {
	answer, err := member.Do(ctx, o.request(it, body, true).Param("dryRun", metav1.DryRunAll), false)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, answer.Into(obj)
}

// item is one desired object during a pass.
type item struct {
	object  *render.Object
	mapping *meta.RESTMapping
	// entry is the object's entry in the new inventory.
	entry v1alpha1.InventoryEntry
	// recorded reports whether the Delivery lists the object as Applied, with a uid. Then it belongs to the wrapper,
	// and no look is needed.
	recorded bool
	// unlisted reports whether no Delivery lists an object of this name, or the pass has just cleared the uid of one that
	// is gone. Then the object is most likely absent. Set by intend.
	unlisted bool
	// wasThere reports whether the Delivery lists the object with a uid: an earlier pass left it on the member.
	wasThere bool
	// due reports whether the object has to be applied. Set by intend; a successful apply resets it.
	due bool
	// version is the resourceVersion in the answer to an apply; "" if there was none.
	version string
	// refused reports whether the object must not or cannot be applied now; trouble says why.
	refused bool
}

func (i *item) id() plan.ObjectID { return plan.IDOf(&i.entry) }

// isMissing reports whether the object on the member does not equal the desired one.
func (i *item) isMissing() bool { return i.due || i.refused }

func (i *item) groupKind() schema.GroupKind { return i.object.GVK.GroupKind() }

func (i *item) isNamespace() bool { return i.groupKind() == schema.GroupKind{Kind: "Namespace"} }

// record stores the API server's answer to an apply.
func (i *item) record(answer member.Answer) error {
	_, err := i.recordOver(answer)
	return err
}

// recordOver stores the API server's answer to an apply. marked reports whether the object has AnnotationAdopted.
// recordOver then marks its entry as adopted too, because the member may have dropped that field of the Delivery.
func (i *item) recordOver(answer member.Answer) (marked bool, err error) {
	there := metav1.PartialObjectMetadata{}
	if err := answer.Into(&there); err != nil {
		return false, fmt.Errorf("reading the API server's answer to the apply of %s: %w", i, err)
	}
	i.entry.State = v1alpha1.EntryApplied
	i.entry.UID, i.entry.Fields = there.UID, marks.FieldsDigest(there.ManagedFields)
	i.recorded, i.due, i.version = true, false, there.ResourceVersion
	if marked = marks.IsAdopted(&there, i.mark()); marked {
		i.entry.Adopted = v1alpha1.AdoptedYes
	}
	return marked, nil
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
