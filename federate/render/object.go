// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// Object is one object as rendered for a member, without the marks.
type Object struct {
	GVK             schema.GroupVersionKind
	Namespace, Name string
	// JSON is the object as canonical JSON. Several renderings share the bytes, so no caller may change them.
	JSON []byte
	// Digest is the digest of JSON. It is the value of the mark AnnotationRendering.
	Digest string
	// Keep is the value of the annotation AnnotationKeep: "true" or "false"; "" if the author set none.
	Keep string
	// Replace is true if the author allows the manager to delete the object and create it again (AnnotationReplace).
	Replace bool
}

// Unstructured decodes the object. The result is a copy, which the caller may change.
func (o *Object) Unstructured() (*unstructured.Unstructured, error) {
	value, err := strictjson.DecodeValue(o.JSON)
	if err != nil {
		return nil, fmt.Errorf("decoding the rendering of %s: %w", o, err)
	}
	return &unstructured.Unstructured{Object: value.(map[string]any)}, nil //nolint:forcetypeassert // newObject wrote it from a map
}

// String returns kind and name for a message, for example "Deployment web".
func (o *Object) String() string { return o.GVK.Kind + " " + o.Name }

// ObjectID identifies an object within one wrapper. It has no namespace, because all objects of a wrapper are in the
// same one.
type ObjectID struct{ Group, Kind, Name string }

// SecretID returns the ObjectID of the Secret with this name.
func SecretID(name string) ObjectID { return ObjectID{Kind: "Secret", Name: name} }

// IsSecret reports whether the ObjectID is that of a Secret.
func (id ObjectID) IsSecret() bool { return id == SecretID(id.Name) }

// Compare orders ObjectIDs by kind, then name, then group.
func (id ObjectID) Compare(other ObjectID) int {
	return cmp.Or(cmp.Compare(id.Kind, other.Kind), cmp.Compare(id.Name, other.Name), cmp.Compare(id.Group, other.Group))
}

// identity identifies an object on a member, across namespaces too.
type identity struct{ group, kind, namespace, name string }

func (o *Object) identity() identity {
	return identity{o.GVK.Group, o.GVK.Kind, o.Namespace, o.Name}
}

func (i identity) bytes() []byte {
	return []byte(i.group + "/" + i.kind + "/" + i.namespace + "/" + i.name)
}

// Reserved returns the error of overrides.Reserved for the rendered object. To save time, it decodes the object only if
// its text contains "fairlead" or "kube-": without one of these words, no rule of overrides.Reserved can apply.
func (o *Object) Reserved() error {
	if !bytes.Contains(o.JSON, []byte("fairlead")) && !bytes.Contains(o.JSON, []byte("kube-")) {
		return nil
	}
	obj, err := o.Unstructured()
	if err != nil {
		return err
	}
	return overrides.Reserved(obj)
}

func newObject(obj *unstructured.Unstructured) (Object, error) {
	if err := overrides.Reserved(obj); err != nil {
		return Object{}, err
	}
	data, err := digest.CanonicalJSON(obj.Object)
	if err != nil {
		return Object{}, err
	}
	annotations := obj.GetAnnotations()
	return Object{
		GVK:       obj.GroupVersionKind(),
		Namespace: obj.GetNamespace(),
		Name:      obj.GetName(),
		JSON:      data,
		Digest:    digest.Of(data),
		Keep:      annotations[v1alpha1.AnnotationKeep],
		Replace:   annotations[v1alpha1.AnnotationReplace] == "true",
	}, nil
}

// compare orders objects for installing: by InstallOrder, then by kind and name. The order in spec.objects has no
// effect.
func compare(a, b *unstructured.Unstructured) int {
	ak, bk := a.GroupVersionKind(), b.GroupVersionKind()
	return cmp.Or(
		cmp.Compare(InstallOrder(ak.GroupKind()), InstallOrder(bk.GroupKind())),
		cmp.Compare(ak.Kind, bk.Kind),
		cmp.Compare(a.GetName(), b.GetName()),
		cmp.Compare(ak.Group, bk.Group),
	)
}
