// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/rollout/revisions"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/retention"
	"github.com/fairlead-dev/fairlead/federate/revision"
)

// These are the values of objectChange.Change.
const (
	objectAdded   = "added"
	objectChanged = "changed"
	objectDropped = "dropped"
)

// objectChange is what a change of the wrapper does to one object. It is the same on all members of the change.
type objectChange struct {
	Object string `json:"object"`
	Change string `json:"change"`
	// Stays is the reason why the manager keeps a dropped object on the member; "" if the manager deletes the object.
	Stays string `json:"stays,omitempty"`
	// Diff is a unified diff; "" if the object is or contains a Secret.
	Diff string `json:"diff,omitempty"`
	// Fields are the names of the fields that change, if the object is or contains a Secret; otherwise nil.
	Fields []string `json:"fields,omitempty"`
	// Hidden is true if the object is or contains a Secret. hostctl then shows none of its values.
	Hidden bool `json:"hidden,omitempty"`
}

// names are the names of the two sides in the header of a diff.
type names struct{ before, after string }

// objectChanges compares two renderings. It returns the added and changed objects in the order of installation, and then the dropped
// ones.
func objectChanges(was, is []render.Object, sides names, policy v1alpha1.DeletionPolicy) ([]objectChange, error) {
	var changes []objectChange
	for i := range is {
		after := &is[i]
		before := sameObject(was, after)
		switch {
		case before == nil:
			changes = append(changes, objectChange{Object: after.String(), Change: objectAdded})
		case before.Digest != after.Digest:
			c, err := objectDiff(before, after, sides)
			if err != nil {
				return nil, err
			}
			changes = append(changes, c)
		}
	}
	for i := range was {
		if before := &was[i]; sameObject(is, before) == nil {
			changes = append(changes, objectChange{Object: before.String(), Change: objectDropped, Stays: whyItStays(before, policy)})
		}
	}
	return changes, nil
}

// sameObject returns the object in the list with the same group, kind, namespace and name, or nil. It ignores the API version: an object
// whose version alone changed counts as changed, not as removed and added.
func sameObject(list []render.Object, of *render.Object) *render.Object {
	i := slices.IndexFunc(list, func(o render.Object) bool {
		return o.GVK.GroupKind() == of.GVK.GroupKind() && o.Namespace == of.Namespace && o.Name == of.Name
	})
	if i < 0 {
		return nil
	}
	return &list[i]
}

func whyItStays(o *render.Object, policy v1alpha1.DeletionPolicy) string {
	switch {
	case !retention.IsKept(policy, o.GVK.GroupKind(), o.Keep):
		return ""
	case policy == v1alpha1.KeepAll:
		return "spec.onDelete is KeepAll"
	}
	return retention.WhyKept(o.Keep)
}

// objectDiff compares two versions of an object. The result has no values if the object is or contains a Secret.
func objectDiff(before, after *render.Object, sides names) (objectChange, error) {
	c := objectChange{Object: after.String(), Change: objectChanged}
	was, err := before.Unstructured()
	if err != nil {
		return c, err
	}
	is, err := after.Unstructured()
	if err != nil {
		return c, err
	}
	if revision.HoldsSecret(was.Object) || revision.HoldsSecret(is.Object) {
		c.Hidden, c.Fields = true, differingFields(was.Object, is.Object)
		return c, nil
	}
	from, to := revisions.Part{Title: before.String()}, revisions.Part{Title: after.String()}
	if from.Text, err = revisions.YAML(was.Object); err != nil {
		return c, err
	}
	if to.Text, err = revisions.YAML(is.Object); err != nil {
		return c, err
	}
	var b strings.Builder
	err = revisions.WriteDiff(&b, &from, &to, sides.before, sides.after)
	c.Diff = b.String()
	return c, err
}

// differingFields returns the names of the fields that differ. A name has at most two parts, for example data.password.
func differingFields(was, is map[string]any) []string {
	var fields []string
	for _, key := range keysOf(was, is) {
		if equality.Semantic.DeepEqual(was[key], is[key]) {
			continue
		}
		before, wasMap := was[key].(map[string]any)
		after, isMap := is[key].(map[string]any)
		if !wasMap && !isMap {
			fields = append(fields, key)
			continue
		}
		for _, inner := range keysOf(before, after) {
			if !equality.Semantic.DeepEqual(before[inner], after[inner]) {
				fields = append(fields, key+"."+inner)
			}
		}
	}
	return fields
}

func keysOf(a, b map[string]any) []string {
	all := maps.Clone(a)
	if all == nil {
		all = make(map[string]any)
	}
	maps.Copy(all, b)
	return slices.Sorted(maps.Keys(all))
}
