// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"fmt"
	"strings"
	"testing"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"

	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

// decideOn decides on a plan that installs db.v1.0.0 and cache.v2.0.0. No Subscription names the cache. The parameters
// db and cache are the properties of the two bundles.
func decideOn(db, cache string) upgrade.Decision {
	plan := planOf("db.v1.0.0", "cache.v2.0.0")
	plan.Status.BundleLookups = []operators.BundleLookup{{Identifier: "db.v1.0.0", Properties: `{"properties": [` + db + `]}`},
		{Identifier: "cache.v2.0.0", Properties: `{"properties": [` + cache + `]}`}}
	return upgrade.Decide(plan, []operators.Subscription{sub("db", "", "db.v1.0.0")}, map[string]string{"db": "db.v1.0.0"})
}

func property(kind, value string) string {
	return fmt.Sprintf(`{"type": %q, "value": %s}`, kind, value)
}

func constraint(value string) string { return property("olm.constraint", value) }

func TestADependencyCountsByEachPropertyThatOLMResolves(t *testing.T) {
	const isCache, isDisk = `{"package": {"packageName": "cache", "versionRange": ">1.0.0"}}`, `{"package": {"packageName": "disk"}}`
	const givesAPI, givesOther = `{"gvk": {"group": "example.com", "version": "v1", "kind": "Cache"}}`, `{"gvk": {"group": "example.com", "version": "v2", "kind": "Cache"}}`
	onCache, onDisk := property("olm.package.required", `{"packageName": "cache"}`), property("olm.package.required", `{"packageName": "disk"}`)
	const cel = `{"cel": {"rule": "true"}}`
	compound := func(kind string, parts ...string) string {
		return fmt.Sprintf(`{%q: {"constraints": [%s]}}`, kind, strings.Join(parts, ", "))
	}
	nested := func(depth int) string {
		text := isCache
		for range depth - 1 {
			text = compound("all", text)
		}
		return text
	}
	cache := strings.Join([]string{property("olm.package", `{"packageName": "cache", "version": "2.0.0"}`),
		property("olm.gvk", `{"group": "example.com", "version": "v1", "kind": "Cache"}`), property("olm.label", `{"label": "fast"}`)}, ", ")
	for name, c := range map[string]struct {
		requires string
		approve  bool
	}{
		"its label":                             {property("olm.label.required", `{"label": "fast"}`), true},
		"another label":                         {property("olm.label.required", `{"label": "slow"}`), false},
		"a label that is not named":             {property("olm.label.required", `{}`), false},
		"a label that it only requires":         {property("olm.label", `{"label": "fast"}`), false},
		"a constraint on its package":           {constraint(isCache), true},
		"a constraint on another package":       {constraint(isDisk), false},
		"a constraint on its API":               {constraint(givesAPI), true},
		"a constraint on another version of it": {constraint(givesOther), false},
		"all, and it meets each part":           {constraint(compound("all", isCache, givesAPI)), true},
		"all, and it does not meet one part":    {constraint(compound("all", isCache, givesOther)), false},
		"all of nothing":                        {constraint(compound("all")), false},
		"any, and it meets one part":            {constraint(compound("any", isDisk, isCache)), true},
		"any, and it meets no part":             {constraint(compound("any", isDisk, givesOther)), false},
		"any of nothing":                        {constraint(compound("any")), false},
		"not, which names only others":          {constraint(compound("not", isDisk)), false},
		"all with not, which names another":     {constraint(compound("all", isCache, compound("not", isDisk))), true},
		"all with not, which names it":          {constraint(compound("all", isCache, compound("not", isDisk, givesAPI))), false},
		"not of not, which names it":            {constraint(compound("not", compound("not", isCache))), false},
		"a rule in CEL":                         {constraint(cel), false},
		"all with a rule in CEL":                {constraint(compound("all", isCache, cel)), false},
		"any with a rule in CEL":                {constraint(compound("any", cel, isCache)), true},
		"all with not of a rule in CEL":         {constraint(compound("all", isCache, compound("not", cel))), false},
		"a rule in CEL twice under not":         {constraint(compound("all", isCache, compound("not", compound("not", cel)))), false},
		"a part that OLM does not know":         {constraint(compound("any", isCache, `{"label": "fast"}`)), false},
		"an empty part":                         {constraint(compound("any", isCache, `{}`)), false},
		"an empty constraint":                   {constraint(`null`), false},
		"a constraint that is no object":        {constraint(`["all"]`), false},
		"parts nested as deep as they may be":   {constraint(nested(10)), true},
		"parts nested deeper":                   {constraint(nested(11)), false},
		"as many parts as there may be":         {constraint(compound("any", strings.Repeat(isDisk+", ", 498)+isCache)), true},
		"more parts":                            {constraint(compound("any", strings.Repeat(isDisk+", ", 499)+isCache)), false},
		"a requirement after too many others":   {strings.Repeat(onDisk+", ", 500) + onCache, false},
		"a constraint that is too long":         {constraint(`{"failureMessage": "` + strings.Repeat("x", 128<<10) + `", ` + isCache[1:]), false},
		"a constraint with a failure message":   {constraint(`{"failureMessage": "needs a cache", ` + isCache[1:]), true},
		"two constraints, and it meets one":     {constraint(isDisk) + ", " + constraint(isCache), true},
	} {
		t.Run(name, func(t *testing.T) {
			if is := decideOn(c.requires, cache); is.Approve != c.approve || !c.approve && !strings.Contains(is.Message, "cache.v2.0.0") {
				t.Errorf("the decision is %+v", is)
			}
		})
	}
	if is := decideOn(property("olm.label.required", `{}`), property("olm.label", `{}`)); is.Approve {
		t.Error("properties without a label must not match")
	}
}

// The plan comes from a member. So the number of CSVs that the manager compares with each other has to be limited.
func TestAPlanWithTooManyUnnamedCSVsIsNotApproved(t *testing.T) {
	for extra, approve := range map[int]bool{99: true, 100: false} {
		csvs := []string{"db.v1.0.0", "cache.v2.0.0"}
		lookups := []operators.BundleLookup{{Identifier: "db.v1.0.0", Properties: `{"properties": [` + property("olm.package.required", `{"packageName": "cache"}`) + `]}`}}
		for i := range extra {
			csvs = append(csvs, fmt.Sprintf("cache.v3.0.%d", i))
		}
		for _, csv := range csvs[1:] {
			lookups = append(lookups, operators.BundleLookup{Identifier: csv, Properties: `{"properties": [` + property("olm.package", `{"packageName": "cache"}`) + `]}`})
		}
		plan := planOf(csvs...)
		plan.Status.BundleLookups = lookups
		is := upgrade.Decide(plan, []operators.Subscription{sub("db", "", "db.v1.0.0")}, map[string]string{"db": "db.v1.0.0"})
		if is.Approve != approve {
			t.Errorf("with %d dependencies the decision is %+v", extra+1, is)
		}
	}
}

// FuzzRequirements uses any properties. A CSV that provides nothing must never count as a dependency.
func FuzzRequirements(f *testing.F) {
	f.Add(property("olm.label.required", `{"label": "fast"}`), property("olm.label", `{"label": "fast"}`))
	f.Add(constraint(`{"all": {"constraints": [{"package": {"packageName": "cache"}}, `+
		`{"not": {"constraints": [{"cel": {"rule": "true"}}]}}]}}`), property("olm.package", `{"packageName": "cache"}`))
	f.Add(constraint(`{"any": {"constraints": [{"gvk": {"kind": "Cache"}}, {}]}}`), property("olm.gvk", `{"kind": "Cache"}`))
	f.Add(constraint(`{"not": {"constraints": []}}`), "")
	f.Fuzz(func(t *testing.T, requires, provides string) {
		decideOn(requires, provides)
		if is := decideOn(requires, ""); is.Approve {
			t.Fatalf("%q makes a CSV that provides nothing a dependency", requires)
		}
	})
}

// The manifest of a CSV comes from a catalog, through a member, so the manager must not trust it. The quantity in this
// manifest takes longer to parse than a test may run.
func TestAQuantityInTheManifestOfACSVIsNotParsed(t *testing.T) {
	plan := planOf("db.v1.0.0", "cache.v2.0.0")
	plan.Status.Plan = []*operators.Step{step("db.v1.0.0", "Db", "Cache"), step("cache.v2.0.0", "Cache", "")}
	for _, s := range plan.Status.Plan {
		s.Resource.Manifest = strings.Replace(s.Resource.Manifest, `{"spec": {`, `{"spec": {"install": {"strategy": "deployment", "spec": {"deployments": [{"name": "a", "spec":
			{"template": {"spec": {"containers": [{"resources": {"limits": {"memory": "1e-2000000000"}}}]}}}}]}}, `, 1)
	}
	is := upgrade.Decide(plan, []operators.Subscription{sub("db", "", "db.v1.0.0")}, map[string]string{"db": "db.v1.0.0"})
	if !is.Approve {
		t.Errorf("%+v", is)
	}
}
