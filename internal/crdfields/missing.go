// SPDX-License-Identifier: Apache-2.0

package crdfields

import (
	"maps"
	"slices"
)

// preserve is a property of schemas. If a schema has it, the API server keeps every field below that schema, also a
// field without a schema of its own.
const preserve = "x-kubernetes-preserve-unknown-fields"

// Missing compares two CRDs, which are objects as JSON decodes them. It returns the fields of the CRD "want" that are
// missing in the CRD "have", as sorted paths, for example "spec.inventory[].adopted". It does not return the fields
// below a missing field. If a version is served by "want" and not by "have", Missing returns "version NAME" for it.
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

// servedVersions returns the schemas of the versions that a CRD serves, by the names of the versions.
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

// missingFields returns the paths of the fields of the schema "want" that are missing in the schema "have". Both
// schemas describe the field at path; path is "" for the whole object.
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

// child returns the object at a path below another object; the argument keys has the path. It returns nil if the path does
// not lead to an object.
func child(of map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		of, _ = of[key].(map[string]any)
	}
	return of
}
