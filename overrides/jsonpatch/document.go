// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/jsonpointer"
)

// Document is one decoded object that a JSON patch (RFC 6902) changes. A failed operation may leave it half changed.
// The caller then discards it.
type Document struct {
	root map[string]any
	// secret makes errors leave out the object's values.
	secret bool
	// budget limits the work. Without it, a patch that doubles a value 64 times would exceed any memory.
	budget *Budget
	// depth is an upper bound of the depth of root.
	depth *int
}

// NewDocument makes a Document of an object. secret makes errors leave out the object's values. depth is an upper bound
// of the object's depth; the Document updates it.
func NewDocument(root map[string]any, secret bool, budget *Budget, depth *int) *Document {
	return &Document{root: root, secret: secret, budget: budget, depth: depth}
}

// Do carries out one operation.
func (d *Document) Do(op *Operation) error {
	if err := d.take(op); err != nil {
		return err
	}
	switch op.Op {
	case v1alpha1.PatchAdd:
		return d.add(op.Path, runtime.DeepCopyJSONValue(op.Value))
	case v1alpha1.PatchRemove:
		_, err := d.remove(op.Path, "so there is nothing to remove")
		return err
	case v1alpha1.PatchReplace:
		return d.replace(op.Path, runtime.DeepCopyJSONValue(op.Value))
	case v1alpha1.PatchMove:
		return d.move(op.From, op.Path)
	case v1alpha1.PatchCopy:
		return d.copy(op.From, op.Path)
	case v1alpha1.PatchTest:
		return d.test(op.Path, op.Value)
	}
	return &Failure{Problem: fmt.Sprintf("%q is not add, remove, replace, move, copy or test", op.Op)}
}

func (d *Document) add(path jsonpointer.Pointer, value any) error {
	_, err := d.edit(d.root, path, 0, true, func(parent any) (any, error) {
		switch c := parent.(type) {
		case map[string]any:
			c[path[len(path)-1]] = value
			return c, nil
		case []any:
			i, err := d.insertAt(path, c)
			if err != nil {
				return nil, err
			}
			if err := d.budget.Take(shift(c, i, true)); err != nil {
				return nil, err
			}
			return slices.Insert(c, i, value), nil
		}
		return nil, d.notContainer(path, len(path)-1, parent)
	})
	return err
}

func (d *Document) replace(path jsonpointer.Pointer, value any) error {
	_, err := d.edit(d.root, path, 0, false, func(parent any) (any, error) {
		switch c := parent.(type) {
		case map[string]any:
			key := path[len(path)-1]
			if _, there := c[key]; !there {
				return nil, &Failure{Problem: `the path is not there; "add" makes it`}
			}
			c[key] = value
			return c, nil
		case []any:
			i, err := d.itemAt(path, len(path)-1, c)
			if err != nil {
				return nil, err
			}
			c[i] = value
			return c, nil
		}
		return nil, d.notContainer(path, len(path)-1, parent)
	})
	return err
}

// remove removes a value and returns it. absent ends the sentence about a missing path.
func (d *Document) remove(path jsonpointer.Pointer, absent string) (removed any, err error) {
	_, err = d.edit(d.root, path, 0, false, func(parent any) (any, error) {
		switch c := parent.(type) {
		case map[string]any:
			key := path[len(path)-1]
			value, there := c[key]
			if !there {
				return nil, &Failure{Problem: "the path is not there, " + absent}
			}
			removed = value
			delete(c, key)
			return c, nil
		case []any:
			i, err := d.itemAt(path, len(path)-1, c)
			if err != nil {
				return nil, err
			}
			if err := d.budget.Take(shift(c, i, false)); err != nil {
				return nil, err
			}
			removed = c[i]
			return slices.Delete(c, i, i+1), nil
		}
		return nil, d.notContainer(path, len(path)-1, parent)
	})
	return removed, err
}

func (d *Document) move(from, path jsonpointer.Pointer) error {
	if from.Contains(path) {
		if len(from) == len(path) {
			_, err := d.get(from)
			return err
		}
		return &Failure{Problem: fmt.Sprintf("%s lies within %s: nothing can be moved into itself", path, from)}
	}
	if list, ok := d.listOf(from, path); ok {
		return d.moveWithin(list, from, path)
	}
	value, err := d.remove(from, "so there is nothing to move")
	if err != nil {
		return err
	}
	return d.add(path, value)
}

// listOf returns the list that holds the targets of both paths.
func (d *Document) listOf(from, path jsonpointer.Pointer) ([]any, bool) {
	last := len(from) - 1
	if len(path) != len(from) || !slices.Equal(from[:last], path[:last]) {
		return nil, false
	}
	value, _ := from[:last].Lookup(d.root)
	list, ok := value.([]any)
	return list, ok
}

// moveWithin moves an item within a list. The items between the two places move by one.
func (d *Document) moveWithin(list []any, from, path jsonpointer.Pointer) error {
	i, err := d.itemAt(from, len(from)-1, list)
	if err != nil {
		return err
	}
	j, err := d.insertAt(path, list[:len(list)-1]) // places count the list without the item
	if err != nil {
		return err
	}
	if err := d.budget.Take(int64(max(i, j) - min(i, j))); err != nil {
		return err
	}
	item := list[i]
	if i < j {
		copy(list[i:j], list[i+1:j+1])
	} else {
		copy(list[j+1:i+1], list[j:i])
	}
	list[j] = item
	return nil
}

func (d *Document) copy(from, path jsonpointer.Pointer) error {
	value, err := d.get(from)
	if err != nil {
		return err
	}
	if err := d.budget.Write(Size(value)); err != nil {
		return err
	}
	return d.add(path, runtime.DeepCopyJSONValue(value))
}

func (d *Document) test(path jsonpointer.Pointer, want any) error {
	found, err := d.get(path)
	if err != nil {
		t := err.(*Failure) //nolint:errorlint // get returns nothing else
		t.Problem += fmt.Sprintf("; the test wants %s", d.show(want))
		return t
	}
	if !Equal(found, want) {
		return &Failure{
			Problem: fmt.Sprintf("it is %s, the test wants %s", d.show(found), d.show(want)),
			Found:   d.found(found),
		}
	}
	return nil
}

// get returns the value at a path, or the Failure to reach it.
func (d *Document) get(path jsonpointer.Pointer) (value any, err error) {
	_, err = d.edit(d.root, path, 0, false, func(parent any) (any, error) {
		switch c := parent.(type) {
		case map[string]any:
			v, there := c[path[len(path)-1]]
			if !there {
				return nil, &Failure{Problem: fmt.Sprintf("%s is not there", path)}
			}
			value = v
			return c, nil
		case []any:
			i, err := d.itemAt(path, len(path)-1, c)
			if err != nil {
				return nil, err
			}
			value = c[i]
			return c, nil
		}
		return nil, d.notContainer(path, len(path)-1, parent)
	})
	return value, err
}

// edit walks to the parent of the path's target and lets leaf change it. On the way back it stores the result of leaf
// in place of the parent, because a list that grows becomes a new list.
func (d *Document) edit(node any, path jsonpointer.Pointer, at int, makes bool, leaf func(parent any) (any, error)) (any, error) {
	if at == len(path)-1 {
		return leaf(node)
	}
	switch c := node.(type) {
	case map[string]any:
		child, there := c[path[at]]
		if makes && child == nil && isMetadataMap(path, at) {
			child, there = map[string]any{}, true
		}
		if !there {
			return nil, d.endsBefore(path, at)
		}
		changed, err := d.edit(child, path, at+1, makes, leaf)
		if err != nil {
			return nil, err
		}
		c[path[at]] = changed
		return c, nil
	case []any:
		i, err := d.itemAt(path, at, c)
		if err != nil {
			return nil, err
		}
		changed, err := d.edit(c[i], path, at+1, makes, leaf)
		if err != nil {
			return nil, err
		}
		c[i] = changed
		return c, nil
	}
	return nil, d.notContainer(path, at, node)
}

// isMetadataMap reports whether the token at i names the map of the labels or annotations, or the metadata above it.
// The path then ends in metadata/labels/KEY or metadata/annotations/KEY. add creates these maps if they are missing.
func isMetadataMap(p jsonpointer.Pointer, i int) bool {
	labels := len(p) - 2
	if labels < 1 || p[labels-1] != "metadata" || (p[labels] != "labels" && p[labels] != "annotations") {
		return false
	}
	return i == labels || i == labels-1
}
