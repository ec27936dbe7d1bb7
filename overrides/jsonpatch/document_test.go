// SPDX-License-Identifier: Apache-2.0

package jsonpatch

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/jsonpointer"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

// operation parses an operation: "add PATH VALUE", "remove PATH" or "move FROM PATH".
func operation(t *testing.T, text string) *Operation {
	t.Helper()
	words := strings.SplitN(text, " ", 3)
	pointer := func(text string) jsonpointer.Pointer {
		p, err := jsonpointer.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	op := &Operation{Op: v1alpha1.PatchOp(words[0]), Path: pointer(words[1])}
	switch op.Op {
	case v1alpha1.PatchMove, v1alpha1.PatchCopy:
		op.From, op.Path = op.Path, pointer(words[2])
	case v1alpha1.PatchAdd, v1alpha1.PatchReplace, v1alpha1.PatchTest:
		value, err := strictjson.DecodeValue([]byte(words[2]))
		if err != nil {
			t.Fatal(err)
		}
		op.SetValue(value)
	}
	return op
}

func document(t *testing.T, text string, units int64) (*Document, *Budget) {
	t.Helper()
	root, err := strictjson.DecodeObject([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	budget, depth := NewBudget(units), strictjson.DepthOf(root)
	return NewDocument(root, false, &budget, &depth), &budget
}

func TestOperations(t *testing.T) {
	for name, tc := range map[string]struct{ doc, op, want string }{
		"add a member":                    {`{"a":1}`, `add /b {"c":null}`, `{"a":1,"b":{"c":null}}`},
		"add before an item":              {`{"a":[1,3]}`, `add /a/1 2`, `{"a":[1,2,3]}`},
		"add behind the last item":        {`{"a":[1]}`, `add /a/- 2`, `{"a":[1,2]}`},
		"add an annotation":               {`{"metadata":{}}`, `add /metadata/annotations/a "x"`, `{"metadata":{"annotations":{"a":"x"}}}`},
		"remove an item":                  {`{"a":[1,2,3]}`, `remove /a/1`, `{"a":[1,3]}`},
		"replace keeps all digits":        {`{"a":1}`, `replace /a 9007199254740993`, `{"a":9007199254740993}`},
		"move between lists":              {`{"a":[1,2],"b":[]}`, `move /a/0 /b/-`, `{"a":[2],"b":[1]}`},
		"move within a list, to its end":  {`{"a":[1,2,3]}`, `move /a/0 /a/2`, `{"a":[2,3,1]}`},
		"move within a list, to its head": {`{"a":[1,2,3]}`, `move /a/2 /a/0`, `{"a":[3,1,2]}`},
		"move onto itself":                {`{"a":1}`, `move /a /a`, `{"a":1}`},
		"copy":                            {`{"a":{"x":[1]}}`, `copy /a /b`, `{"a":{"x":[1]},"b":{"x":[1]}}`},
		"test compares numbers by value":  {`{"a":1}`, `test /a 1.0`, `{"a":1}`},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := document(t, tc.doc, 1<<20)
			if err := d.Do(operation(t, tc.op)); err != nil {
				t.Fatal(err)
			}
			want, err := strictjson.DecodeObject([]byte(tc.want))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, d.root); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailuresNamePlaceAndCause(t *testing.T) {
	for name, tc := range map[string]struct{ doc, op, problem, found string }{
		"a missing parent":       {`{}`, `add /a/b 1`, "the path does not exist, because /a is missing: add that first", ""},
		"a missing field":        {`{}`, `replace /a 1`, `the path does not exist in the object; "add" creates it`, ""},
		"nothing to remove":      {`{}`, `remove /a`, "the path does not exist, so there is nothing to remove", ""},
		"a scalar on the way":    {`{"a":1}`, `add /a/b 1`, "/a is 1, neither an object nor a list", "1"},
		"past the end of a list": {`{"a":[1]}`, `add /a/2 1`, `the index is too large: the list /a has 1 item; "-" appends an item`, ""},
		"no index":               {`{"a":[1]}`, `remove /a/01`, `/a is a list, and "01" is not an index`, ""},
		"a move into itself":     {`{"a":{}}`, `move /a /a/b`, "/a/b is below /a: a value cannot be moved into itself", ""},
		"a test":                 {`{"a":9007199254740993}`, `test /a 9007199254740992`, "the value is 9007199254740993, but the test expects 9007199254740992", "9007199254740993"},
	} {
		t.Run(name, func(t *testing.T) {
			d, _ := document(t, tc.doc, 1<<20)
			err := d.Do(operation(t, tc.op))
			failure := (*Failure)(nil)
			if !errors.As(err, &failure) || !strings.HasPrefix(failure.Problem, tc.problem) || failure.Found != tc.found || failure.TooCostly {
				t.Errorf("got %+v", err)
			}
			d.excerpts.secret = true
			if err := d.Do(operation(t, tc.op)); strings.Contains(err.Error(), "9007199254740993") {
				t.Errorf("a secret value is in %q", err)
			}
		})
	}
}

func TestTheBudgetCoversAllOperationsTogether(t *testing.T) {
	d, budget := document(t, `{"a":"0123456789"}`, 4000)
	steps := 0
	var err error
	for ; err == nil && steps < 64; steps++ {
		err = d.Do(operation(t, "copy /a /b"))
	}
	if !IsTooCostly(err) || steps == 1 || budget.Spent() <= 4000 {
		t.Errorf("after %d operations, %d units: %v", steps, budget.Spent(), err)
	}
}
