// SPDX-License-Identifier: Apache-2.0

package marks

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Marks are the labels and annotations that every pushed object carries.
type Marks struct {
	// UID is the wrapper's uid.
	UID types.UID
	// Wrapper is the WrapperPath. Object is the ObjectPath.
	Wrapper, Object string
	// Rendering is the digest of the rendered object without the marks.
	Rendering string
}

// Stamp writes the marks on an object, and replaces labels and annotations with the same names.
func Stamp(obj *unstructured.Unstructured, m Marks) {
	labels := obj.GetLabels()
	if labels == nil {
		labels = make(map[string]string, 1)
	}
	labels[v1alpha1.LabelUID] = string(m.UID)
	obj.SetLabels(labels)

	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = make(map[string]string, 3)
	}
	annotations[v1alpha1.AnnotationWrapper] = m.Wrapper
	annotations[v1alpha1.AnnotationObject] = m.Object
	annotations[v1alpha1.AnnotationRendering] = m.Rendering
	obj.SetAnnotations(annotations)
}

// Annotations are the names of all annotations that only Fairlead writes on pushed objects.
var Annotations = []string{v1alpha1.AnnotationWrapper, v1alpha1.AnnotationObject, v1alpha1.AnnotationRendering, v1alpha1.AnnotationAdopted}

// IsOurs reports whether an object is the wrapper's own. Then it carries the wrapper's uid, and its object annotation
// names exactly this object. A child of it can carry copies of both, but the annotation then names the parent.
func IsOurs(obj metav1.Object, uid types.UID, objectPath string) bool {
	return obj.GetLabels()[v1alpha1.LabelUID] == string(uid) &&
		obj.GetAnnotations()[v1alpha1.AnnotationObject] == objectPath
}

// IsPushed reports whether any wrapper of any host pushed an object.
func IsPushed(obj metav1.Object, objectPath string) bool {
	return obj.GetLabels()[v1alpha1.LabelUID] != "" &&
		obj.GetAnnotations()[v1alpha1.AnnotationObject] == objectPath
}

// IsAdopted reports whether the object itself says that Fairlead adopted it. The annotation names the object, because
// clients copy annotations from one object to another.
func IsAdopted(obj metav1.Object, objectPath string) bool {
	return obj.GetAnnotations()[v1alpha1.AnnotationAdopted] == objectPath
}
