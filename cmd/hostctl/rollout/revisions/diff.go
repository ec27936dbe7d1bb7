// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

const (
	// diffContext is the number of unchanged lines that a diff shows before and after a change.
	diffContext = 3
	// The constant nothing takes the place of a file name in a diff, if the object does not exist on that side, as in the output of diff -N.
	nothing = "/dev/null"
)

// Side is one of the two revisions that a diff compares, with its name for the headers. The zero Side has no content.
type Side struct {
	Name    string
	Content revision.Revision
}

// SideOf returns the side of a stored revision.
func SideOf(w v1alpha1.Wrapper, r *appsv1.ControllerRevision) (Side, error) {
	content, err := ContentOf(w, r)
	return Side{Name: fmt.Sprintf("revision %d", r.Revision), Content: content}, err
}

// Part is one piece of a revision as YAML: an object, all overrides, or the upgrade. Parts with equal keys are compared.
type Part struct{ Key, Title, Text string }

// Diff returns unified diffs between two revisions: one for each object that differs, one for the overrides, and one for the upgrade.
func Diff(before, after Side) (string, error) {
	old, err := partsOf(before.Content)
	if err != nil {
		return "", err
	}
	present, err := partsOf(after.Content)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i := range present {
		if err := WriteDiff(&b, find(old, present[i].Key), &present[i], before.Name, after.Name); err != nil {
			return "", err
		}
	}
	for i := range old {
		if find(present, old[i].Key) == nil {
			if err := WriteDiff(&b, &old[i], nil, before.Name, after.Name); err != nil {
				return "", err
			}
		}
	}
	if b.Len() == 0 && before.Content.Hash != after.Content.Hash {
		return "only the order of the objects differs\n", nil
	}
	return b.String(), nil
}

// WriteDiff writes the unified diff between two versions of a part. A version is nil if the part does not exist on that side.
func WriteDiff(out io.Writer, was, is *Part, before, after string) error {
	unified := difflib.UnifiedDiff{FromFile: nothing, ToFile: nothing, Context: diffContext}
	if was != nil {
		unified.FromFile, unified.A = was.Title+" ("+before+")", slices.Collect(strings.Lines(was.Text))
	}
	if is != nil {
		unified.ToFile, unified.B = is.Title+" ("+after+")", slices.Collect(strings.Lines(is.Text))
	}
	return difflib.WriteUnifiedDiff(out, unified)
}

func find(parts []Part, key string) *Part {
	i := slices.IndexFunc(parts, func(p Part) bool { return p.Key == key })
	if i < 0 {
		return nil
	}
	return &parts[i]
}

// partsOf returns the parts of a revision; none for the zero Revision.
func partsOf(r revision.Revision) ([]Part, error) {
	if r.Data == nil {
		return nil, nil
	}
	spec, err := r.Spec()
	if err != nil {
		return nil, err
	}
	var parts []Part
	for i := range spec.Objects {
		obj, err := strictjson.Decode(spec.Objects[i])
		if err != nil {
			return nil, fmt.Errorf("reading objects[%d] of the revision: %w", i, err)
		}
		title := obj.GetKind() + " " + obj.GetName()
		if obj.GetNamespace() != "" {
			title = obj.GetKind() + " " + obj.GetNamespace() + "/" + obj.GetName()
		}
		// The key leaves out the API version. So an object whose version alone changed appears as changed, not as removed and
		// added.
		p := Part{Key: obj.GroupVersionKind().Group + "/" + title, Title: title}
		if p.Text, err = YAML(obj.Object); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	if len(spec.Overrides) > 0 {
		p := Part{Key: "overrides", Title: "overrides"}
		if p.Text, err = YAML(spec.Overrides); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	if !reflect.ValueOf(spec.Upgrade).IsZero() {
		p := Part{Key: "upgrade", Title: "upgrade"}
		if p.Text, err = YAML(spec.Upgrade); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

// YAML returns a value of a revision as YAML.
func YAML(value any) (string, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("writing the revision as YAML: %w", err)
	}
	return string(text), nil
}
