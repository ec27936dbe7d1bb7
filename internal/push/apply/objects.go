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

// objects makes the requests about the objects of one wrapper on the member.
type objects struct {
	conn    *member.Conn
	wrapper *v1alpha1.WrapperIdentity
}

// stamped returns the body of an apply: the rendered object with Fairlead's marks. If uid or resourceVersion is not "",
// the API server applies the body only to an object with this uid or resourceVersion.
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

// stamp sets Fairlead's marks for the item on obj.
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

// read reads a whole object, not only its metadata.
func (o *objects) read(ctx context.Context, it *item) (*unstructured.Unstructured, error) {
	answer, err := member.Do(ctx, o.conn.REST().Get().AbsPath(it.path()...), false)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, answer.Into(obj)
}

// dryRun sends an apply as a dry run. It returns the object as a real apply would leave it.
func (o *objects) dryRun(ctx context.Context, it *item, body []byte) (*unstructured.Unstructured, error) {
	answer, err := member.Do(ctx, o.request(it, body, true).Param("dryRun", metav1.DryRunAll), false)
	if err != nil {
		return nil, err
	}
	obj := &unstructured.Unstructured{}
	return obj, answer.Into(obj)
}

// applyExactly sends one apply with force, but only to the object with this uid. If resourceVersion is not "", the
// object must also have this resourceVersion. marked reports whether the object has AnnotationAdopted.
func (o *objects) applyExactly(ctx context.Context, it *item, uid types.UID, resourceVersion string) (marked bool, err error) {
	body, err := o.stamped(it, uid, resourceVersion)
	if err != nil {
		return false, err
	}
	answer, err := member.Do(ctx, o.request(it, body, true), true)
	if err != nil {
		return false, err
	}
	return it.recordOver(answer)
}

// applied acts on an item after its apply. If the item is a CustomResourceDefinition that was applied, the connection
// drops its cache of the kinds that the member serves, because the member may serve other kinds now.
func (o *objects) applied(it *item) {
	if it.entry.Kind == "CustomResourceDefinition" && it.entry.State == v1alpha1.EntryApplied {
		o.conn.ForgetMappings()
	}
}

// item is one desired object during a pass.
type item struct {
	object  *render.Object
	mapping *meta.RESTMapping
	// entry is the object's entry in the inventory that this pass writes.
	entry v1alpha1.InventoryEntry
	// recorded is true if the Delivery lists the object as Applied, with a uid. The object then belongs to the wrapper, so
	// the pass applies it without reading it first.
	recorded bool
	// unlisted is true if the object is most likely absent: the Delivery does not list it, or the collector has
	// reported it as gone and the pass has cleared its uid in the entry. The methods intend and intentPatch set this
	// field.
	unlisted bool
	// wasThere is true if the Delivery listed the object with a uid before this pass: an earlier pass left it on the
	// member.
	wasThere bool
	// due is true while the pass still has to apply the object. The methods intend and intentPatch set this field; a
	// successful apply resets it.
	due bool
	// version is the resourceVersion that the apply returned; "" if this pass did not apply the object.
	version string
	// refused is true if the pass must not or cannot apply the object. The trouble of the pass has the reason.
	refused bool
}

func (i *item) id() plan.ObjectID { return plan.IDOf(&i.entry) }

// isMissing reports whether the object on the member is absent, or still differs from the desired one.
func (i *item) isMissing() bool { return i.due || i.refused }

func (i *item) groupKind() schema.GroupKind { return i.object.GVK.GroupKind() }

func (i *item) isNamespace() bool { return i.groupKind() == schema.GroupKind{Kind: "Namespace"} }

// record copies into the item what the API server answered to an apply.
func (i *item) record(answer member.Answer) error {
	_, err := i.recordOver(answer)
	return err
}

// recordOver copies into the item what the API server answered to an apply. marked reports whether the object has
// AnnotationAdopted. If it has, recordOver also sets the field adopted of the entry: a member with an outdated CRD may
// have dropped that field from the Delivery.
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

// String is the name of the item in messages, for example "Secret db".
func (i *item) String() string { return memberapi.Ref(i.entry.Kind, i.entry.Name) }

func (i *item) path() []string {
	return member.Path(i.mapping.Resource, i.object.Namespace, i.object.Name)
}

// mark is the value of AnnotationObject on the item's object. It names the object, so that Fairlead can tell the object
// from a copy with another name.
func (i *item) mark() string {
	return marks.ObjectPath(i.entry.Resource, i.entry.Group, i.object.Namespace, i.object.Name)
}
