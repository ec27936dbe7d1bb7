// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"encoding/json"
	"slices"
	"strings"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	// maxDependencies is the greatest number of unnamed CSVs of one plan that may count as dependencies. The plan comes
	// from a member, which may name any number of CSVs.
	maxDependencies = 100
	// maxRequirements is the greatest number of requirements that the manager reads of one CSV. Each part of a compound
	// constraint counts as one requirement.
	maxRequirements = 500
)

// notRequired returns the unnamed CSVs of a plan that no agreed CSV requires, directly or through other unnamed CSVs.
// If there are more than maxDependencies unnamed CSVs, it returns all of them.
func notRequired(bundles map[string]*bundle, agreed, unnamed []string) []string {
	if len(unnamed) > maxDependencies {
		return unnamed
	}
	counted := sets.New[string]()
	for counting := agreed; len(counting) > 0; counting = counting[1:] {
		csv := counting[0]
		if bundles[csv] == nil || counted.Has(csv) {
			continue
		}
		counted.Insert(csv)
		var left []string
		for _, other := range unnamed {
			if bundles[csv].needs(bundles[other]) {
				counting = append(counting, other)
				continue
			}
			left = append(left, other)
		}
		unnamed = left
	}
	return unnamed
}

// bundle is what one CSV of a plan provides and requires.
type bundle struct {
	// provides has APIs, packages and labels, in the form of apiOf, packageOf and labelOf.
	provides sets.Set[string]
	// requires are the requirements of the CSV; budget is how many more requirements may be added.
	requires []requirement
	budget   int
	// replaces is the name of the CSV that this CSV replaces; "" if it replaces none.
	replaces string
}

// needs reports whether another bundle meets a requirement of this bundle.
func (b *bundle) needs(other *bundle) bool {
	return other != nil && slices.ContainsFunc(b.requires, func(r requirement) bool { return r.isMetBy(other.provides) })
}

func (b *bundle) provide(what string) {
	if what != "" {
		b.provides.Insert(what)
	}
}

func (b *bundle) require(what string) {
	if what != "" && b.budget > 0 {
		b.requires, b.budget = append(b.requires, requirement{kind: provided, what: what}), b.budget-1
	}
}

// bundlesOf reads the CSVs of a plan from its steps, and their properties from its bundle lookups. It ignores what it
// cannot read. So a CSV with unreadable requirements requires nothing, and its dependencies keep the manager from
// approving the plan.
func bundlesOf(plan *operators.InstallPlan) map[string]*bundle {
	all := make(map[string]*bundle)
	of := func(csv, replaces string) *bundle {
		b, known := all[csv]
		if !known {
			b = &bundle{provides: sets.New[string](), budget: maxRequirements}
			all[csv] = b
		}
		if replaces != "" {
			b.replaces = replaces
		}
		return b
	}
	for _, step := range plan.Status.Plan {
		if step == nil || step.Resource.Kind != operators.ClusterServiceVersionKind {
			continue
		}
		var csv struct { // not operators.ClusterServiceVersion, because its Deployments have quantities, which can take minutes to parse
			Metadata struct{ Annotations map[string]string }
			Spec     struct {
				Replaces                  string
				CustomResourceDefinitions operators.CustomResourceDefinitions
				APIServiceDefinitions     operators.APIServiceDefinitions
			}
		}
		if err := json.Unmarshal([]byte(step.Resource.Manifest), &csv); err != nil {
			continue
		}
		b := of(step.Resource.Name, csv.Spec.Replaces)
		readProperties(csv.Metadata.Annotations[propertiesAnnotation], b)
		for _, crd := range csv.Spec.CustomResourceDefinitions.Owned {
			b.provide(apiOfCRD(&crd))
		}
		for _, crd := range csv.Spec.CustomResourceDefinitions.Required {
			b.require(apiOfCRD(&crd))
		}
		for _, api := range csv.Spec.APIServiceDefinitions.Owned {
			b.provide(apiOf(api.Group, api.Version, api.Kind))
		}
		for _, api := range csv.Spec.APIServiceDefinitions.Required {
			b.require(apiOf(api.Group, api.Version, api.Kind))
		}
	}
	for i := range plan.Status.BundleLookups {
		lookup := &plan.Status.BundleLookups[i]
		readProperties(lookup.Properties, of(lookup.Identifier, lookup.Replaces))
	}
	return all
}

// propertiesAnnotation is the annotation of a CSV with the properties of its bundle. OLM sets it if the catalog
// contains the bundle itself; the plan then has no bundle lookup.
const propertiesAnnotation = "operatorframework.io/properties"

// readProperties adds the properties in text to the bundle. OLM writes them as JSON: {"properties": [{"type": …,
// "value": …}]}.
func readProperties(text string, to *bundle) {
	var read struct {
		Properties []struct {
			Type  string          `json:"type"`
			Value json.RawMessage `json:"value"`
		} `json:"properties"`
	}
	if json.Unmarshal([]byte(text), &read) != nil {
		return
	}
	for _, p := range read.Properties {
		if p.Type == "olm.constraint" {
			to.constrain(p.Value)
			continue
		}
		var v struct{ PackageName, Group, Version, Kind, Label string }
		if json.Unmarshal(p.Value, &v) != nil {
			continue // properties of other types may have a value that is no object
		}
		switch p.Type {
		case "olm.package":
			to.provide(packageOf(v.PackageName))
		case "olm.gvk":
			to.provide(apiOf(v.Group, v.Version, v.Kind))
		case "olm.label":
			to.provide(labelOf(v.Label))
		case "olm.package.required":
			to.require(packageOf(v.PackageName))
		case "olm.gvk.required":
			to.require(apiOf(v.Group, v.Version, v.Kind))
		case "olm.label.required":
			to.require(labelOf(v.Label))
		}
	}
}

// apiOfCRD returns the API of a CRD that a CSV lists. The name of a CRD is <plural>.<group>.
func apiOfCRD(crd *operators.CRDDescription) string {
	_, group, _ := strings.Cut(crd.Name, ".")
	return apiOf(group, crd.Version, crd.Kind)
}

func apiOf(group, version, kind string) string {
	return unlessEmpty(kind, "api "+group+"/"+version+"/"+kind)
}

// isAPI reports whether a text is one of apiOf.
func isAPI(what string) bool { return strings.HasPrefix(what, "api ") }

func packageOf(name string) string { return unlessEmpty(name, "package "+name) }

func labelOf(label string) string { return unlessEmpty(label, "label "+label) }

// unlessEmpty returns text if name is not empty, and else "", so that two properties without a name do not match each
// other.
func unlessEmpty(name, text string) string {
	if name == "" {
		return ""
	}
	return text
}
