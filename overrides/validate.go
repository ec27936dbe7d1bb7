// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/jsonpatch"
	"github.com/fairlead-dev/fairlead/overrides/jsonpointer"
	"github.com/fairlead-dev/fairlead/overrides/selection"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

const (
	// maxObjects bounds the number of objects in a wrapper.
	maxObjects = 64
	// maxWrapped bounds the size of these objects together, as JSON, in bytes.
	maxWrapped = 1 << 20
)

// Validate returns the faults of a wrapper's spec that CEL cannot find. namespace is the wrapper's namespace; "" for a ClusterFederated. The webhook, the
// controller and hostctl each call Validate, so also a wrapper that was stored without the webhook is refused. Validate needs no
// member. The faults that only some members have, for example a missing path, come from Set.Apply.
func Validate(spec *v1alpha1.WrapperSpec, namespace string, kind v1alpha1.WrapperKind) field.ErrorList {
	var errs field.ErrorList
	if kind == v1alpha1.KindFederated && IsSystemNamespace(namespace) {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "namespace"),
			fmt.Sprintf("nothing is federated into %s: %s; use another namespace", namespace, whySystem)))
	}
	path := field.NewPath("spec")
	objects, objectErrs := validateObjects(spec, namespace, kind, path.Child("objects"))
	errs = append(errs, objectErrs...)
	errs = append(errs, validateSelection(spec.Placement.Clusters, path.Child("placement", "clusters"), true)...)
	for i := range spec.Overrides {
		at := path.Child("overrides").Index(i)
		matched, err := match(&spec.Overrides[i].Target, objects)
		// The target may match an object that could not be decoded. So a missing match is a fault only if all objects could be decoded.
		if err != nil && len(objects) == len(spec.Objects) {
			errs = append(errs, field.Invalid(at.Child("target"), strictjson.Excerpt(spec.Overrides[i].Target), err.Error()))
		}
		errs = append(errs, validateOverride(&spec.Overrides[i], objects, matched, at)...)
	}
	// The Subscription in spec.upgrade may be an object that could not be decoded. So its absence is a fault only if all objects could
	// be decoded.
	if len(objects) == len(spec.Objects) {
		errs = append(errs, validateUpgrade(spec, objects, path)...)
	}
	return errs
}

// validateSelection returns the faults of a ClusterSelection. A missing one (nil) is a fault if required is true.
func validateSelection(s *v1alpha1.ClusterSelection, path *field.Path, required bool) field.ErrorList {
	var errs field.ErrorList
	switch {
	case s == nil && required:
		return append(errs, field.Required(path, "name the members in names, or select them in selectors (selectors: [{}] selects every member)"))
	case s == nil:
		return nil
	case len(s.Names) == 0 && len(s.Selectors) == 0:
		return append(errs, field.Required(path, "clusters is empty: name the members in names, or select them in selectors (selectors: [{}] selects every member)"))
	}
	for i, name := range s.Names {
		if name == "" {
			errs = append(errs, field.Required(path.Child("names").Index(i), "give the name of a MemberCluster"))
		}
	}
	for i := range s.Selectors {
		one := v1alpha1.ClusterSelection{Selectors: s.Selectors[i : i+1]}
		if _, err := selection.New(&one); err != nil {
			errs = append(errs, field.Invalid(path.Child("selectors").Index(i), strictjson.Excerpt(s.Selectors[i]), cause(err)))
		}
	}
	return errs
}

// cause returns the text of the error that err wraps. The text of err itself begins with the path of a field. The
// caller's field.Error names that field already.
func cause(err error) string {
	if wrapped := errors.Unwrap(err); wrapped != nil {
		return wrapped.Error()
	}
	return err.Error()
}

// validateOverride returns the faults of one override. matched has the indexes of the objects that its target matches.
func validateOverride(o *v1alpha1.Override, objects []*unstructured.Unstructured, matched []int, path *field.Path) field.ErrorList {
	errs := validateSelection(o.Clusters, path.Child("clusters"), false)
	switch {
	case (len(o.Patch) > 0) == (o.Merge != nil):
		return append(errs, field.Invalid(path, field.OmitValueType{}, "give patch or merge, exactly one of them"))
	case o.Merge != nil:
		return append(errs, validateMerge(o.Merge.Raw, objects, matched, path.Child("merge"))...)
	}
	for j := range o.Patch {
		if e := validateOperation(&o.Patch[j], path.Child("patch").Index(j)); e != nil {
			errs = append(errs, e)
		}
	}
	return errs
}

func validateOperation(from *v1alpha1.PatchOperation, path *field.Path) *field.Error {
	op, err := newOperation(from)
	if err != nil {
		// An error of newOperation about one field begins with the name of this field.
		text := err.Error()
		for _, name := range []string{"path", "from", "op", "valueFrom", "value"} {
			if rest, ok := strings.CutPrefix(text, name+": "); ok {
				return field.Invalid(path.Child(name), shownPart(from, name), rest)
			}
		}
		return field.Invalid(path, field.OmitValueType{}, text)
	}
	if op.Op == v1alpha1.PatchTest {
		return nil // a test changes nothing
	}
	for _, p := range protected {
		if p.path.Contains(op.Path) {
			return field.Forbidden(path.Child("path"), fmt.Sprintf("no override may change %s: %s", p.path, p.why))
		}
		if op.Op == v1alpha1.PatchMove && p.path.Contains(op.From) {
			return field.Forbidden(path.Child("from"), fmt.Sprintf("no override may move %s away: %s", p.path, p.why))
		}
	}
	if op.Op == v1alpha1.PatchMove && op.From.Contains(op.Path) && len(op.From) < len(op.Path) {
		return field.Invalid(path.Child("path"), from.Path, fmt.Sprintf("path is below from, %s: a value cannot be moved into itself", from.From))
	}
	return nil
}

// shownPart returns the content of the named field of an operation, for a message. It returns OmitValueType for the field value, which may be
// secret.
func shownPart(from *v1alpha1.PatchOperation, name string) any {
	switch name {
	case "path":
		return from.Path
	case "from":
		return from.From
	case "op":
		return string(from.Op)
	case "valueFrom":
		return from.ValueFrom.FieldPath
	}
	return field.OmitValueType{}
}

func validateMerge(raw []byte, objects []*unstructured.Unstructured, matched []int, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	patch, err := strictjson.DecodeObject(raw)
	if err != nil {
		return append(errs, field.Invalid(path, field.OmitValueType{}, err.Error()))
	}
	for _, p := range protected {
		value, there := p.path.Lookup(patch)
		if !there {
			continue
		}
		for _, i := range matched {
			// A merge may contain the name of the object, as patches for kubectl often do. An equal value changes nothing.
			if is, _ := p.path.Lookup(objects[i].Object); !jsonpatch.Equal(value, is) {
				errs = append(errs, field.Forbidden(childAt(path, p.path), "no override may change it: "+p.why))
				break
			}
		}
	}
	found := directive(patch)
	for _, i := range matched {
		gvk := objects[i].GroupVersionKind()
		if found != "" && !isStrategic(gvk) {
			errs = append(errs, field.Invalid(path, found,
				fmt.Sprintf("this is a directive of the strategic merge, but the kind %s gets a JSON merge patch: to remove a field, use patch in place of merge", gvk.Kind)))
			break
		}
	}
	return errs
}

// childAt returns the field path of a JSON pointer that begins at path.
func childAt(path *field.Path, to jsonpointer.Pointer) *field.Path {
	for i, token := range to {
		if i > 0 && (to[i-1] == "labels" || to[i-1] == "annotations") {
			path = path.Key(token)
		} else {
			path = path.Child(token)
		}
	}
	return path
}
