// SPDX-License-Identifier: Apache-2.0

package author

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
)

// cleaning is an object from which the rules remove fields, and the notes about removed fields.
type cleaning struct {
	content map[string]any
	gk      schema.GroupKind
	name    string
	// live is true if the object was read from a cluster.
	live  bool
	notes []string
}

func (c *cleaning) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// noteByHand adds a note about a removed field if the author wrote the object. If the object was read from a cluster,
// it adds none, because the author did not choose the value of the field.
func (c *cleaning) noteByHand(format string, args ...any) {
	if !c.live {
		c.note(format, args...)
	}
}

// rule removes one kind of field that clusters write and authors do not.
type rule func(*cleaning)

// general are the rules for every kind, in order.
var general = []rule{
	withoutStatus,
	withoutOwners,
	withoutFinalizers,
	withoutServerMetadata,
	withoutLastApplied,
	withoutMarks,
	withoutTemplateTimes,
	withoutEmptyMetadata,
	withoutNulls,
}

// Sanitize returns a copy of an object without the fields that a cluster wrote, and notes about removed fields that the
// author may need. Sanitizing the result again changes nothing.
func Sanitize(object *unstructured.Unstructured) (*unstructured.Unstructured, []string) {
	clean := object.DeepCopy()
	c := &cleaning{content: clean.Object, gk: clean.GroupVersionKind().GroupKind(), name: clean.GetName(), live: isLive(clean.Object)}
	for _, r := range byKind[c.gk] {
		r(c)
	}
	for _, r := range general {
		r(c)
	}
	return clean, c.notes
}

// isLive reports whether an object was read from a cluster, that is, whether it has a field that only an API server
// sets. A null creationTimestamp does not count, because client-side tools write it.
func isLive(content map[string]any) bool {
	return slices.ContainsFunc([]string{"uid", "resourceVersion", "creationTimestamp", "managedFields"}, func(field string) bool {
		return fieldAt(content, "metadata", field) != nil
	})
}

func withoutStatus(c *cleaning) { remove(c.content, "status") }

func withoutOwners(c *cleaning) {
	owners := mapsAt(c.content, "metadata", "ownerReferences")
	if !remove(c.content, "metadata", "ownerReferences") || len(owners) == 0 {
		return
	}
	c.note("metadata.ownerReferences left out: %s %s owns this object, and members have no object with the owner's uid; "+
		"federate the owner instead, or members will have this object beside the one that the owner creates",
		textAt(owners[0], "kind"), textAt(owners[0], "name"))
}

// withoutFinalizers removes all finalizers. If a member does not run the controller of a finalizer, the object could
// never be deleted on that member.
func withoutFinalizers(c *cleaning) {
	list, _ := fieldAt(c.content, "metadata", "finalizers").([]any)
	remove(c.content, "metadata", "finalizers")
	if len(list) > 0 {
		c.note("metadata.finalizers left out: %s; on each member the controllers add those that they need", listed(list))
	}
}

func withoutServerMetadata(c *cleaning) {
	removeIf(c.content, oneOf("managedFields", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink",
		"deletionTimestamp", "deletionGracePeriodSeconds"), "metadata")
	// generateName has no effect on an object that has a name.
	if c.name != "" {
		remove(c.content, "metadata", "generateName")
	}
}

// lastApplied is the annotation in which `kubectl apply` records its input.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

func withoutLastApplied(c *cleaning) {
	c.dropAnnotations(oneOf(lastApplied))
}

// withoutMarks removes Fairlead's marks, so that an object that was read from a member can be wrapped again. It keeps
// the annotations that authors set (keep, replace). It also removes the label that opens a namespace to Fairlead: only
// the administrator of a member may set that label.
func withoutMarks(c *cleaning) {
	if _, found := mapAt(c.content, "metadata", "labels")[v1alpha1.LabelOpen]; found {
		c.note("hostctl left out label %s: only a member's administrator sets it, to let Fairlead write into a namespace of that member", v1alpha1.LabelOpen)
	}
	c.dropLabels(oneOf(v1alpha1.LabelUID, v1alpha1.LabelMade, v1alpha1.LabelOpen))
	c.dropAnnotations(oneOf(marks.Annotations...))
	c.dropAnnotations(oneOf(v1alpha1.AnnotationTargetCSV)) // the manager sets this annotation from spec.upgrade
}

// withoutTemplateTimes removes null creationTimestamps from templates. Go programs write one when they encode a
// template.
func withoutTemplateTimes(c *cleaning) {
	for _, path := range [][]string{{"spec", "template"}, {"spec", "jobTemplate"}, {"spec", "jobTemplate", "spec", "template"}} {
		if metadata := mapAt(c.content, append(path, "metadata")...); metadata != nil && metadata["creationTimestamp"] == nil {
			delete(metadata, "creationTimestamp")
		}
	}
}

func withoutEmptyMetadata(c *cleaning) {
	for _, field := range []string{"labels", "annotations"} {
		if value, found := mapAt(c.content, "metadata")[field]; found && (value == nil || len(mapAt(c.content, "metadata", field)) == 0) {
			remove(c.content, "metadata", field)
		}
	}
}

func (c *cleaning) dropAnnotations(matches func(string) bool) {
	removeIf(c.content, matches, "metadata", "annotations")
}

func (c *cleaning) dropLabels(matches func(string) bool) {
	removeIf(c.content, matches, "metadata", "labels")
}

func listed(items []any) string {
	texts := make([]string, 0, len(items))
	for _, item := range items {
		texts = append(texts, fmt.Sprint(item))
	}
	return strings.Join(texts, ", ")
}

func core(kind string) schema.GroupKind { return schema.GroupKind{Kind: kind} }

func of(group, kind string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: kind} }
