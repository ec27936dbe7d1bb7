// SPDX-License-Identifier: Apache-2.0

package crdfields

import (
	"maps"
	"slices"
)

// preserve makes the API server keep every field below it, with or without a schema.
const preserve = "x-kubernetes-preserve-unknown-fields"

// Missing returns the fields of the CRD want that the CRD have lacks, as sorted paths: "spec.inventory[].adopted". If a
// field is missing, the list does not name the fields below it. A version of want that have does not serve is named
// "version v1alpha1". Both CRDs are objects as JSON decodes them.
func Missing(want, have map[string]any) []string {
	var missing []string
	there := servedVersions(have)
	for name, wanted := range servedVersions(want) {
		schema, served := there[name]
		if !served {
			missing = append(missing, "version "+name)
			continue
		}
		missing = append(missing, missingFields("", wanted, schema)...)
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// servedVersions are the schemas of the versions that a CRD serves, by the version's name.
func servedVersions(crd map[string]any) map[string]map[string]any {
	schemas := make(map[string]map[string]any)
	versions, _ := child(crd, "spec")["versions"].([]any)
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if name, _ := version["name"].(string); name != "" && version["served"] == true {
			schemas[name] = child(version, "schema", "openAPIV3Schema")
		}
	}
	return schemas
}

// missingFields compares two schemas of the field path; "" is the object itself.
func missingFields(path string, want, have map[string]any) []string {
	if have[preserve] == true {
		return nil
	}
	var missing []string
	properties := child(have, "properties")
	for _, name := range slices.Sorted(maps.Keys(child(want, "properties"))) {
		at := name
		if path != "" {
			at = path + "." + name
		}
		if _, there := properties[name]; !there {
			missing = append(missing, at)
			continue
		}
		missing = append(missing, missingFields(at, child(want, "properties", name), child(properties, name))...)
	}
	for _, nested := range []struct{ key, suffix string }{{"items", "[]"}, {"additionalProperties", ".*"}} {
		if below := child(want, nested.key); below != nil {
			missing = append(missing, missingFields(path+nested.suffix, below, child(have, nested.key))...)
		}
	}
	return missing
}

// child follows keys down nested objects. It returns nil if one of them is absent or no object.
func child(of map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		of, _ = of[key].(map[string]any)
	}
	return of
}
