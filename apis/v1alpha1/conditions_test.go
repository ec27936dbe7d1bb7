// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

// The on-call person looks up the reason of a status in docs/troubleshooting.md. So each constant Reason… of
// conditions.go needs a row there.
func TestEveryReasonIsInTroubleshooting(t *testing.T) {
	text, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "conditions.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	reasons := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		reasons++
		for line := range strings.Lines(string(text)) {
			if first, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|"); strings.Contains(first, "`"+value+"`") {
				return true
			}
		}
		t.Errorf("docs/troubleshooting.md has no line for %s", value)
		return true
	})
	if reasons < 40 {
		t.Errorf("found only %d reasons in conditions.go, want at least 40", reasons)
	}
}
