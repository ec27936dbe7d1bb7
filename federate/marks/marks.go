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
	// UID is the wrapper's metadata.uid.
	UID types.UID
	// Wrapper is the WrapperPath of the wrapper.
	// Object is the ObjectPath of the object.
	Wrapper, Object string
	// Rendering is the digest of the rendered object without the marks.
	Rendering string
}

// Stamp sets the marks on an object. It overwrites labels and annotations with the same keys.
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

// Annotations are the keys of the annotations that only Fairlead sets on pushed objects.
var Annotations = []string{v1alpha1.AnnotationWrapper, v1alpha1.AnnotationObject, v1alpha1.AnnotationRendering, v1alpha1.AnnotationAdopted}

// IsOurs reports whether the wrapper with this uid pushed the object. The object must have the uid as a label, and an
// annotation that names the object itself. If a controller copies both marks to another object, the annotation names
// the wrong object, and IsOurs returns false.
func IsOurs(obj metav1.Object, uid types.UID, objectPath string) bool {
	return obj.GetLabels()[v1alpha1.LabelUID] == string(uid) &&
		obj.GetAnnotations()[v1alpha1.AnnotationObject] == objectPath
}

// IsPushed reports whether some wrapper of some host pushed the object.
func IsPushed(obj metav1.Object, objectPath string) bool {
	return obj.GetLabels()[v1alpha1.LabelUID] != "" &&
		obj.GetAnnotations()[v1alpha1.AnnotationObject] == objectPath
}

// IsAdopted reports whether the object has the mark of an adoption. The annotation must name the object itself, because
// clients copy annotations from one object to another.
func IsAdopted(obj metav1.Object, objectPath string) bool {
	return obj.GetAnnotations()[v1alpha1.AnnotationAdopted] == objectPath
}
