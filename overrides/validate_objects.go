// SPDX-License-Identifier: Apache-2.0

package overrides

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/jsonpointer"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// foreign are fields that no author writes, because an API server does. They get into manifests that were copied from a cluster.
var foreign = []jsonpointer.Pointer{
	{"status"},
	{"metadata", "ownerReferences"},
	{"metadata", "finalizers"},
	{"metadata", "managedFields"},
	{"metadata", "uid"},
	{"metadata", "resourceVersion"},
	{"metadata", "generation"},
	{"metadata", "creationTimestamp"},
	{"metadata", "deletionTimestamp"},
	{"metadata", "deletionGracePeriodSeconds"},
	{"metadata", "selfLink"},
}

// stamped are labels and annotations that only Fairlead writes. Each has the text for the message.
var stamped = []protection{
	{jsonpointer.Pointer{"metadata", "labels", v1alpha1.LabelUID}, "only Fairlead sets it, on the objects that it pushes; `hostctl federate` leaves it out"},
	{jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationWrapper}, "only Fairlead sets it, on the objects that it pushes; `hostctl federate` leaves it out"},
	{jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationObject}, "only Fairlead sets it, on the objects that it pushes; `hostctl federate` leaves it out"},
	{jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationRendering}, "only Fairlead sets it, on the objects that it pushes; `hostctl federate` leaves it out"},
	{jsonpointer.Pointer{"metadata", "annotations", v1alpha1.AnnotationAdopted}, "only Fairlead sets it, on objects that it adopts; `hostctl federate` leaves it out"},
	{targetCSV, "only Fairlead sets it: write the target as targetCSV in spec.upgrade.subscriptions; `hostctl federate` leaves it out"},
}

// validateObjects returns the objects that it could decode, and the faults of all objects. The caller checks the targets of overrides against these
// objects.
func validateObjects(spec *v1alpha1.WrapperSpec, namespace string, kind v1alpha1.WrapperKind, path *field.Path) ([]*unstructured.Unstructured, field.ErrorList) {
	var errs field.ErrorList
	if n := len(spec.Objects); n == 0 {
		errs = append(errs, field.Required(path, "a wrapper holds at least one object"))
	} else if n > maxObjects {
		errs = append(errs, field.TooMany(path, n, maxObjects))
	}
	objects := make([]*unstructured.Unstructured, 0, len(spec.Objects))
	seen := make(map[string]int, len(spec.Objects))
	total := 0
	for i := range spec.Objects {
		at := path.Index(i)
		data, err := strictjson.Bytes(spec.Objects[i])
		if err != nil {
			errs = append(errs, field.Invalid(at, field.OmitValueType{}, err.Error()))
			continue
		}
		if total += len(data); total > maxWrapped {
			errs = append(errs, &field.Error{
				Type: field.ErrorTypeTooLong, Field: path.String(), BadValue: field.OmitValueType{},
				Detail: fmt.Sprintf("a wrapper holds %d KiB of objects at most; split them over several (`hostctl federate` does)", maxWrapped>>10),
			})
			break // stop here: the limit has to bound the work of this check, too
		}
		object, err := strictjson.DecodeObject(data)
		if err != nil {
			errs = append(errs, field.Invalid(at, field.OmitValueType{}, err.Error()))
			continue
		}
		obj := &unstructured.Unstructured{Object: object}
		objects = append(objects, obj)
		errs = append(errs, validateObject(obj, namespace, kind, at)...)

		gk := obj.GroupVersionKind().GroupKind()
		id := gk.String() + "/" + obj.GetName()
		if first, twice := seen[id]; twice && obj.GetName() != "" {
			errs = append(errs, field.Duplicate(at, fmt.Sprintf("%s %s is objects[%d] already", gk, obj.GetName(), first)))
		}
		seen[id] = i
	}
	return objects, errs
}

func validateObject(obj *unstructured.Unstructured, namespace string, kind v1alpha1.WrapperKind, at *field.Path) field.ErrorList {
	errs := validateIdentity(obj, at)
	if len(errs) > 0 {
		return errs // the checks below need the kind and the name
	}
	errs = append(errs, validateHome(obj, namespace, kind, at)...)
	for _, p := range foreign {
		if value, _ := p.Lookup(obj.Object); value != nil {
			errs = append(errs, field.Forbidden(childAt(at, p), "only the member writes it; leave it out (`hostctl federate` does that for you)"))
		}
	}
	for _, s := range stamped {
		if value, _ := s.path.Lookup(obj.Object); value != nil {
			errs = append(errs, field.Forbidden(childAt(at, s.path), s.why))
		}
	}
	for _, key := range []string{v1alpha1.AnnotationKeep, v1alpha1.AnnotationReplace} {
		path := jsonpointer.Pointer{"metadata", "annotations", key}
		if value, there := path.Lookup(obj.Object); there && value != "true" && value != "false" {
			errs = append(errs, field.NotSupported(childAt(at, path), fmt.Sprint(value), []string{"true", "false"}))
		}
	}
	return errs
}

// validateIdentity checks that an object has apiVersion, kind and metadata.name, and that a URL can contain them.
func validateIdentity(obj *unstructured.Unstructured, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	required := func(hint string, fields ...string) string {
		value, _, err := unstructured.NestedString(obj.Object, fields...)
		path := childAt(at, fields)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(path, field.OmitValueType{}, "it has to be a string"))
		case value == "":
			errs = append(errs, field.Required(path, hint))
		}
		return value
	}
	apiVersion := required("give the group and version, such as apps/v1 or v1", "apiVersion")
	if _, err := schema.ParseGroupVersion(apiVersion); err != nil {
		errs = append(errs, field.Invalid(at.Child("apiVersion"), apiVersion, err.Error()))
	}
	required("give a kind, such as Deployment", "kind")
	if metadata, there := obj.Object["metadata"]; there {
		if _, ok := metadata.(map[string]any); !ok {
			return append(errs, field.Invalid(at.Child("metadata"), field.OmitValueType{}, "it has to be an object"))
		}
	}
	name := required("every object needs a name (generateName would make a new object at each push)", "metadata", "name")
	if problems := content.IsPathSegmentName(name); len(problems) > 0 {
		errs = append(errs, field.Invalid(at.Child("metadata", "name"), name, strings.Join(problems, "; ")))
	}
	if value, _ := (jsonpointer.Pointer{"metadata", "generateName"}).Lookup(obj.Object); value != nil && value != "" {
		errs = append(errs, field.Forbidden(at.Child("metadata", "generateName"), "generateName would make a new object at each push; give metadata.name instead"))
	}
	if len(errs) > 0 {
		return errs
	}
	if path, t := malformed(obj.Object); t != nil {
		errs = append(errs, field.Invalid(childAt(at, path), field.OmitValueType{}, t.Problem))
	}
	return errs
}

// validateHome returns a fault if no member may get the object: its namespace does not fit the wrapper, the object is reserved, or it is
// a list.
func validateHome(obj *unstructured.Unstructured, namespace string, kind v1alpha1.WrapperKind, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if value, _ := (jsonpointer.Pointer{"metadata", "namespace"}).Lookup(obj.Object); value != nil {
		path := at.Child("metadata", "namespace")
		text, isText := value.(string)
		switch {
		case !isText:
			errs = append(errs, field.Invalid(path, field.OmitValueType{}, "it has to be a string"))
		case text == "":
		case kind == v1alpha1.KindClusterFederated:
			errs = append(errs, field.Forbidden(path, "a ClusterFederated holds only cluster-scoped objects; put namespaced objects into a Federated in namespace "+text))
		case text != namespace:
			errs = append(errs, field.Invalid(path, text, fmt.Sprintf("Fairlead pushes the objects of a Federated into the Federated's own namespace, %q: "+
				"leave this field out, or write a Federated in namespace %s", namespace, text)))
		}
	}
	if r := reserved(obj); r != nil {
		errs = append(errs, field.Forbidden(childAt(at, r.path), r.why))
	} else if isList(obj) {
		errs = append(errs, field.Forbidden(at.Child("kind"), "a list is not a single object: put each of its items into objects (`hostctl federate` does)"))
	}
	return errs
}

// isList reports whether an object is a list of other objects. The kind alone does not show that: a custom kind's name may end in List.
func isList(obj *unstructured.Unstructured) bool {
	gvk := obj.GroupVersionKind()
	_, items := obj.Object["items"].([]any)
	return gvk.Kind == "List" || (items && strings.HasSuffix(gvk.Kind, "List"))
}
