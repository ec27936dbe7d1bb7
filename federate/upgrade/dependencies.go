// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"encoding/json"
	"strings"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/util/sets"
)

// notRequired are the unnamed CSVs of a plan that no agreed CSV requires, also not over other unnamed ones.
func notRequired(bundles map[string]bundle, agreed, unnamed []string) []string {
	required := sets.New[string]()
	for _, csv := range agreed {
		required = required.Union(bundles[csv].requires)
	}
	for {
		var left []string
		for _, csv := range unnamed {
			if is := bundles[csv]; is.provides.HasAny(required.UnsortedList()...) {
				required = required.Union(is.requires)
				continue
			}
			left = append(left, csv)
		}
		if len(left) == len(unnamed) {
			return left
		}
		unnamed = left
	}
}

// bundle is what one CSV of a plan provides and requires: APIs as "api <group>/<version>/<kind>", packages as "package <name>".
// replaces is the CSV that it replaces; "" if none.
type bundle struct {
	provides, requires sets.Set[string]
	replaces           string
}

// bundlesOf reads the plan's CSVs from its steps, and their properties from its bundle lookups. What cannot be read counts as
// absent: a CSV whose requirements are unknown requires none, so the manager does not approve what comes with it.
func bundlesOf(plan *operators.InstallPlan) map[string]bundle {
	all := make(map[string]bundle)
	of := func(csv, replaces string) bundle {
		b, known := all[csv]
		if !known {
			b = bundle{provides: sets.New[string](), requires: sets.New[string]()}
		}
		if replaces != "" {
			b.replaces = replaces
		}
		all[csv] = b
		return b
	}
	for _, step := range plan.Status.Plan {
		if step == nil || step.Resource.Kind != operators.ClusterServiceVersionKind {
			continue
		}
		var csv operators.ClusterServiceVersion
		if err := json.Unmarshal([]byte(step.Resource.Manifest), &csv); err != nil {
			continue
		}
		b := of(step.Resource.Name, csv.Spec.Replaces)
		readProperties(csv.Annotations[propertiesAnnotation], b)
		for _, crd := range csv.Spec.CustomResourceDefinitions.Owned {
			b.provides.Insert(apiOfCRD(&crd))
		}
		for _, crd := range csv.Spec.CustomResourceDefinitions.Required {
			b.requires.Insert(apiOfCRD(&crd))
		}
		for _, api := range csv.Spec.APIServiceDefinitions.Owned {
			b.provides.Insert(apiOf(api.Group, api.Version, api.Kind))
		}
		for _, api := range csv.Spec.APIServiceDefinitions.Required {
			b.requires.Insert(apiOf(api.Group, api.Version, api.Kind))
		}
	}
	for i := range plan.Status.BundleLookups {
		lookup := &plan.Status.BundleLookups[i]
		readProperties(lookup.Properties, of(lookup.Identifier, lookup.Replaces))
	}
	return all
}

// propertiesAnnotation has the properties of a bundle whose content is in the catalog itself. Such a bundle has no lookup.
const propertiesAnnotation = "operatorframework.io/properties"

// readProperties adds the properties of a bundle, which OLM keeps as JSON: {"properties": [{"type": …, "value": …}]}.
func readProperties(text string, to bundle) {
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
		var v struct{ PackageName, Group, Version, Kind string }
		if json.Unmarshal(p.Value, &v) != nil {
			continue // the value of another type of property, for example a text
		}
		switch p.Type {
		case "olm.package":
			to.provides.Insert(packageOf(v.PackageName))
		case "olm.gvk":
			to.provides.Insert(apiOf(v.Group, v.Version, v.Kind))
		case "olm.package.required":
			to.requires.Insert(packageOf(v.PackageName))
		case "olm.gvk.required":
			to.requires.Insert(apiOf(v.Group, v.Version, v.Kind))
		}
	}
}

// apiOfCRD is the API of a CRD that a CSV describes. Its name is the plural, a dot, and the group.
func apiOfCRD(crd *operators.CRDDescription) string {
	_, group, _ := strings.Cut(crd.Name, ".")
	return apiOf(group, crd.Version, crd.Kind)
}

func apiOf(group, version, kind string) string { return "api " + group + "/" + version + "/" + kind }

func packageOf(name string) string { return "package " + name }
