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

// Object is one object as a member is to get it, but for the marks.
type Object struct {
	GVK             schema.GroupVersionKind
	Namespace, Name string
	// JSON is canonical. It is shared between renderings: read it, never write into it.
	JSON []byte
	// Digest is that of JSON; the mark AnnotationRendering carries it.
	Digest string
	// Keep is what AnnotationKeep says: "true", "false", or "" where the author says nothing.
	Keep string
	// Replace reports whether the author lets the object be deleted and made again (AnnotationReplace).
	Replace bool
}

// Unstructured decodes the object, for the caller to change.
func (o *Object) Unstructured() (*unstructured.Unstructured, error) {
	value, err := strictjson.DecodeValue(o.JSON)
	if err != nil {
		return nil, fmt.Errorf("decoding the rendering of %s: %w", o, err)
	}
	return &unstructured.Unstructured{Object: value.(map[string]any)}, nil //nolint:forcetypeassert // newObject wrote it from a map
}

// String is kind and name, as messages say it: Deployment web.
func (o *Object) String() string { return o.GVK.Kind + " " + o.Name }

// identity is what tells an object apart from all others on a member.
type identity struct{ group, kind, namespace, name string }

func (o *Object) identity() identity {
	return identity{o.GVK.Group, o.GVK.Kind, o.Namespace, o.Name}
}

func (i identity) bytes() []byte {
	return []byte(i.group + "/" + i.kind + "/" + i.namespace + "/" + i.name)
}

// Reserved is overrides.Reserved for the rendered object. Objects whose text has none of the words that all the
// rules need are not decoded for it.
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

// compare orders objects for installing: by rung, then by kind and name, so that the order in which
// an author lists them does not matter.
func compare(a, b *unstructured.Unstructured) int {
	ak, bk := a.GroupVersionKind(), b.GroupVersionKind()
	return cmp.Or(
		cmp.Compare(InstallOrder(ak.GroupKind()), InstallOrder(bk.GroupKind())),
		cmp.Compare(ak.Kind, bk.Kind),
		cmp.Compare(a.GetName(), b.GetName()),
		cmp.Compare(ak.Group, bk.Group),
	)
}
