// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// readConstants returns the values of a Go package's string constants, by name. kind has its manifests in constants that it does not export.
func readConstants(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the constants of kind: %w", err)
	}
	values := map[string]ast.Expr{}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, entry.Name()), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("reading the constants of kind: %w", err)
		}
		for _, declaration := range file.Decls {
			constants, ok := declaration.(*ast.GenDecl)
			if !ok || constants.Tok != token.CONST {
				continue
			}
			for _, spec := range constants.Specs {
				value, ok := spec.(*ast.ValueSpec)
				if !ok || len(value.Names) != len(value.Values) {
					continue
				}
				for i, name := range value.Names {
					values[name.Name] = value.Values[i]
				}
			}
		}
	}
	texts := map[string]string{}
	for name, value := range values {
		if text, ok := textOf(value, values); ok {
			texts[name] = text
		}
	}
	return texts, nil
}

// textOf evaluates a string literal, the name of a constant, or a concatenation of these. The second result is false for any other expression.
func textOf(value ast.Expr, constants map[string]ast.Expr) (string, bool) {
	switch v := value.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(v.Value)
		return text, err == nil && v.Kind == token.STRING
	case *ast.Ident:
		named, ok := constants[v.Name]
		if !ok {
			return "", false
		}
		return textOf(named, constants)
	case *ast.BinaryExpr:
		left, ok := textOf(v.X, constants)
		right, also := textOf(v.Y, constants)
		return left + right, ok && also && v.Op == token.ADD
	}
	return "", false
}
