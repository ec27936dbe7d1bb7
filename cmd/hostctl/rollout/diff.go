// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

const (
	// diffContext is how many unchanged lines a diff shows before and after a change.
	diffContext = 3
	// nothing stands in a diff for the file of an object that does not exist on that side, as in the output of diff -N.
	nothing = "/dev/null"
)

// side is one of the two revisions that a diff compares, with its name for the headers. The zero side has no content.
type side struct {
	name    string
	content revision.Revision
}

// part is one piece of a revision as YAML: an object, all overrides, or the upgrade. Parts with equal keys are compared.
type part struct{ key, title, text string }

// diff returns unified diffs between two revisions: one for each object that differs, one for the overrides, and one for the upgrade.
func diff(before, after side) (string, error) {
	old, err := partsOf(before.content)
	if err != nil {
		return "", err
	}
	present, err := partsOf(after.content)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for i := range present {
		if err := writeDiff(&b, find(old, present[i].key), &present[i], before.name, after.name); err != nil {
			return "", err
		}
	}
	for i := range old {
		if find(present, old[i].key) == nil {
			if err := writeDiff(&b, &old[i], nil, before.name, after.name); err != nil {
				return "", err
			}
		}
	}
	if b.Len() == 0 && before.content.Hash != after.content.Hash {
		return "only the order of the objects differs\n", nil
	}
	return b.String(), nil
}

// writeDiff writes the unified diff between two versions of a part. A version is nil if the part does not exist on that side.
func writeDiff(out io.Writer, was, is *part, before, after string) error {
	unified := difflib.UnifiedDiff{FromFile: nothing, ToFile: nothing, Context: diffContext}
	if was != nil {
		unified.FromFile, unified.A = was.title+" ("+before+")", slices.Collect(strings.Lines(was.text))
	}
	if is != nil {
		unified.ToFile, unified.B = is.title+" ("+after+")", slices.Collect(strings.Lines(is.text))
	}
	return difflib.WriteUnifiedDiff(out, unified)
}

func find(parts []part, key string) *part {
	i := slices.IndexFunc(parts, func(p part) bool { return p.key == key })
	if i < 0 {
		return nil
	}
	return &parts[i]
}

// partsOf returns the parts of a revision; none for the zero Revision.
func partsOf(r revision.Revision) ([]part, error) {
	if r.Data == nil {
		return nil, nil
	}
	spec, err := r.Spec()
	if err != nil {
		return nil, err
	}
	var parts []part
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
		p := part{key: obj.GroupVersionKind().Group + "/" + title, title: title}
		if p.text, err = asYAML(obj.Object); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	if len(spec.Overrides) > 0 {
		p := part{key: "overrides", title: "overrides"}
		if p.text, err = asYAML(spec.Overrides); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	if !reflect.ValueOf(spec.Upgrade).IsZero() {
		p := part{key: "upgrade", title: "upgrade"}
		if p.text, err = asYAML(spec.Upgrade); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, nil
}

func asYAML(value any) (string, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("writing the revision as YAML: %w", err)
	}
	return string(text), nil
}
