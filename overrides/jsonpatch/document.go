// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/jsonpointer"
)

// Document is a decoded object on which the operations of a JSON patch work. After a failed operation the object can be half changed: the
// caller must not use it.
type Document struct {
	root map[string]any
	// excerpts shows values of the object in a Failure.
	excerpts excerpts
	// budget bounds the work of all operations. Without it, a patch that doubles a value 64 times would use up the manager's
	// memory.
	budget *Budget
	// depth points to an upper bound of root's nesting depth, which each operation updates.
	depth *int
}

// NewDocument returns a Document for the object root. If secret is true, no Failure has a value of the object. depth points to an upper bound
// of the object's nesting depth, which the operations update.
func NewDocument(root map[string]any, secret bool, budget *Budget, depth *int) *Document {
	return &Document{root: root, excerpts: excerpts{secret: secret}, budget: budget, depth: depth}
}

// Do applies one operation to the object.
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
			i, err := insertAt(path, c)
			if err != nil {
				return nil, err
			}
			if err := d.budget.Take(shift(c, i, true)); err != nil {
				return nil, err
			}
			return slices.Insert(c, i, value), nil
		}
		return nil, d.excerpts.notContainer(path, len(path)-1, parent)
	})
	return err
}

func (d *Document) replace(path jsonpointer.Pointer, value any) error {
	_, err := d.edit(d.root, path, 0, false, func(parent any) (any, error) {
		switch c := parent.(type) {
		case map[string]any:
			key := path[len(path)-1]
			if _, there := c[key]; !there {
				return nil, &Failure{Problem: `the path does not exist in the object; "add" creates it`}
			}
			c[key] = value
			return c, nil
		case []any:
			i, err := itemAt(path, len(path)-1, c)
			if err != nil {
				return nil, err
			}
			c[i] = value
			return c, nil
		}
		return nil, d.excerpts.notContainer(path, len(path)-1, parent)
	})
	return err
}

// remove removes the value at path and returns it. The parameter absent is the end of the error message if the path
// does not exist.
func (d *Document) remove(path jsonpointer.Pointer, absent string) (removed any, err error) {
	_, err = d.edit(d.root, path, 0, false, func(parent any) (any, error) {
		switch c := parent.(type) {
		case map[string]any:
			key := path[len(path)-1]
			value, there := c[key]
			if !there {
				return nil, &Failure{Problem: "the path does not exist, " + absent}
			}
			removed = value
			delete(c, key)
			return c, nil
		case []any:
			i, err := itemAt(path, len(path)-1, c)
			if err != nil {
				return nil, err
			}
			if err := d.budget.Take(shift(c, i, false)); err != nil {
				return nil, err
			}
			removed = c[i]
			return slices.Delete(c, i, i+1), nil
		}
		return nil, d.excerpts.notContainer(path, len(path)-1, parent)
	})
	return removed, err
}

func (d *Document) move(from, path jsonpointer.Pointer) error {
	if from.Contains(path) {
		if len(from) == len(path) {
			_, err := d.get(from)
			return err
		}
		return &Failure{Problem: fmt.Sprintf("%s is below %s: a value cannot be moved into itself", path, from)}
	}
	if list, ok := listOf(d.root, from, path); ok {
		return d.moveWithin(list, from, path)
	}
	value, err := d.remove(from, "so there is nothing to move")
	if err != nil {
		return err
	}
	return d.add(path, value)
}

// listOf returns the list if the pointers from and path point to items of the same list in root. Otherwise the second
// result is false.
func listOf(root map[string]any, from, path jsonpointer.Pointer) ([]any, bool) {
	last := len(from) - 1
	if len(path) != len(from) || !slices.Equal(from[:last], path[:last]) {
		return nil, false
	}
	value, _ := from[:last].Lookup(root)
	list, ok := value.([]any)
	return list, ok
}

// moveWithin moves an item to another index of its list. It costs as many units as there are items between the two indexes.
func (d *Document) moveWithin(list []any, from, path jsonpointer.Pointer) error {
	i, err := itemAt(from, len(from)-1, list)
	if err != nil {
		return err
	}
	j, err := insertAt(path, list[:len(list)-1]) // RFC 6902 removes the item first, so the new index is one in the list without it
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
		t := err.(*Failure) //nolint:errorlint // every error of get is a *Failure
		t.Problem += fmt.Sprintf("; the test expects %s", d.excerpts.show(want))
		return t
	}
	if !Equal(found, want) {
		return &Failure{
			Problem: fmt.Sprintf("the value is %s, but the test expects %s", d.excerpts.show(found), d.excerpts.show(want)),
			Found:   d.excerpts.found(found),
		}
	}
	return nil
}

// get returns the value at a path. If the path does not exist, err is a *Failure that names the part of the path that is missing.
func (d *Document) get(path jsonpointer.Pointer) (value any, err error) {
	_, err = d.edit(d.root, path, 0, false, func(parent any) (any, error) {
		switch c := parent.(type) {
		case map[string]any:
			v, there := c[path[len(path)-1]]
			if !there {
				return nil, &Failure{Problem: fmt.Sprintf("%s does not exist in the object", path)}
			}
			value = v
			return c, nil
		case []any:
			i, err := itemAt(path, len(path)-1, c)
			if err != nil {
				return nil, err
			}
			value = c[i]
			return c, nil
		}
		return nil, d.excerpts.notContainer(path, len(path)-1, parent)
	})
	return value, err
}

// edit walks from node down to the container of the path's last token, and calls the function leaf with this container. The token path[at]
// is the first one below node. On the way back it stores the result of leaf in place of the container, because a list that grows becomes a
// new slice. If makes is true, edit creates missing metadata, labels and annotations on the way.
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
			return nil, endsBefore(path, at)
		}
		changed, err := d.edit(child, path, at+1, makes, leaf)
		if err != nil {
			return nil, err
		}
		c[path[at]] = changed
		return c, nil
	case []any:
		i, err := itemAt(path, at, c)
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
	return nil, d.excerpts.notContainer(path, at, node)
}

// isMetadataMap reports whether p is the path of a label or annotation, and its token p[i] is "metadata", "labels" or "annotations". The
// operation add creates these maps if they are missing.
func isMetadataMap(p jsonpointer.Pointer, i int) bool {
	labels := len(p) - 2
	if labels < 1 || p[labels-1] != "metadata" || (p[labels] != "labels" && p[labels] != "annotations") {
		return false
	}
	return i == labels || i == labels-1
}
