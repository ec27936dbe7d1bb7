// SPDX-License-Identifier: Apache-2.0

package author

import "fmt"

// hostNamespaceNotes returns notes about namespaces that the wrappers need on the host, and that the host lacks or may
// lack. A Namespace in the input does not help, because it goes to the members and not to the host. The function
// hasNamespace reports whether the host has a namespace; it is nil if hostctl is not connected to the host.
func hostNamespaceNotes(items []*item, wrappers []*Wrapper, hasNamespace func(string) (bool, error)) ([]Note, error) {
	inInput := map[string]bool{}
	for _, i := range items {
		if i.gk() == core("Namespace") {
			inInput[i.Object.GetName()] = true
		}
	}
	var notes []Note
	checked := map[string]bool{"": true}
	for _, w := range wrappers {
		if checked[w.Namespace] {
			continue
		}
		checked[w.Namespace] = true
		switch {
		case hasNamespace != nil:
			has, err := hasNamespace(w.Namespace)
			if err != nil {
				return nil, fmt.Errorf("asking the host for namespace %s: %w", w.Namespace, err)
			}
			if !has {
				notes = append(notes, Note{Text: fmt.Sprintf("%s %s: the host has no namespace %s for the wrapper. Run `kubectl create namespace %s` there first",
					w.Kind, w.Name, w.Namespace, w.Namespace)})
			}
		case inInput[w.Namespace]:
			notes = append(notes, Note{Text: fmt.Sprintf("%s %s: Namespace %s of the input goes to the members. The wrapper itself needs a namespace of that "+
				"name on the host. If the host lacks it, run `kubectl create namespace %s` there first", w.Kind, w.Name, w.Namespace, w.Namespace)})
		}
	}
	return notes, nil
}
