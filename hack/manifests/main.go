// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "Error:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: manifests check | copy | render kustomize|helm [VARIANT] | package VERSION DIR; run it in hack/manifests")

func run(args []string, out io.Writer) error {
	const root = "../.."
	switch {
	case len(args) == 1 && args[0] == "check":
		return check(root, out)
	case len(args) == 1 && args[0] == "copy":
		return writeCopies(root)
	case len(args) == 3 && args[0] == "package":
		return packageChart(root, args[1], args[2])
	case (len(args) == 2 || len(args) == 3) && args[0] == "render":
		name := "default"
		if len(args) == 3 {
			name = args[2]
		}
		return printObjects(root, args[1], name, out)
	}
	return errUsage
}

// check prints a line for each difference; nothing if there is none.
func check(root string, out io.Writer) error {
	stale, err := staleCopies(root)
	if err != nil {
		return err
	}
	for _, name := range stale {
		fmt.Fprintf(out, "%s differs from the copy that `make generate` writes\n", name)
	}
	for _, v := range variants {
		fromKustomize, err := renderKustomize(root, v)
		if err != nil {
			return err
		}
		fromHelm, err := renderHelm(root, v.values)
		if err != nil {
			return err
		}
		for _, line := range compare(fromKustomize, fromHelm) {
			fmt.Fprintf(out, "variant %s: %s\n", v.name, line)
		}
	}
	return nil
}

func marshal(o object) (string, error) {
	text, err := yaml.Marshal(o.content)
	if err != nil {
		return "", fmt.Errorf("writing %s as YAML: %w", o.key(), err)
	}
	return string(text), nil
}

// printObjects prints the objects of one variant as YAML. The argument by is "kustomize" or "helm".
func printObjects(root, by, name string, out io.Writer) error {
	v, err := variantOf(name)
	if err != nil {
		return err
	}
	var objects []object
	switch by {
	case "kustomize":
		objects, err = renderKustomize(root, v)
	case "helm":
		objects, err = renderHelm(root, v.values)
	default:
		err = errUsage
	}
	if err != nil {
		return err
	}
	for _, o := range objects {
		text, err := marshal(o)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "---\n%s", text)
	}
	return nil
}
