// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"bytes"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"
)

const (
	// maxConstraintDepth is the greatest nesting depth of the parts of an olm.constraint.
	maxConstraintDepth = 10
	// maxConstraintBytes is the greatest length of an olm.constraint in bytes. OLM refuses longer ones.
	maxConstraintBytes = 128 << 10
)

// requirement is what a bundle requires of one other bundle. As in OLM's resolver, one and the same other bundle has to
// meet all parts of a compound requirement.
type requirement struct {
	kind requirementKind
	// what is the required API, package or label, as apiOf, packageOf and labelOf write it. Only a requirement of the
	// kind provided has it.
	what string
	// parts are the parts of a compound requirement.
	parts []requirement
}

type requirementKind int

const (
	// provided is met by a bundle that provides the API, package or label of the requirement.
	provided requirementKind = iota + 1
	// allOf is met if all parts are met, anyOf if at least one part is met, and noneOf if no part is met.
	allOf
	anyOf
	noneOf
	// celRule is a rule in CEL (Common Expression Language). The manager does not evaluate it.
	celRule
)

// isMetBy reports whether a bundle certainly meets the requirement. The parameter provides has what the bundle
// provides. The bundle has to provide something that the requirement names. A noneOf alone does not make a bundle a
// dependency, because almost every bundle meets it.
//
// isMetBy does not compare versions: OLM has chosen the bundle for the version range in the requirement.
func (r *requirement) isMetBy(provides sets.Set[string]) bool {
	return r.holds(provides, false) && r.names(provides)
}

// holds evaluates the requirement. It does not evaluate rules in CEL: it takes the parameter cel as the result of each of them.
func (r *requirement) holds(provides sets.Set[string], cel bool) bool {
	holds := func(part requirement) bool { return part.holds(provides, cel) }
	switch r.kind {
	case provided:
		return provides.Has(r.what)
	case allOf:
		return !slices.ContainsFunc(r.parts, func(part requirement) bool { return !holds(part) })
	case anyOf:
		return slices.ContainsFunc(r.parts, holds)
	case noneOf:
		// Inside noneOf, holds takes the opposite as the result of a rule in CEL: a rule that may be true must not make noneOf true.
		return !slices.ContainsFunc(r.parts, func(part requirement) bool { return part.holds(provides, !cel) })
	}
	return cel
}

// names reports whether the requirement names something that a bundle provides. It ignores the parts of noneOf.
func (r *requirement) names(provides sets.Set[string]) bool {
	switch r.kind {
	case provided:
		return provides.Has(r.what)
	case allOf, anyOf:
		return slices.ContainsFunc(r.parts, func(part requirement) bool { return part.names(provides) })
	}
	return false
}

// constraint is the value of an olm.constraint property. OLM reads only the first field that is set, in this order.
type constraint struct {
	FailureMessage string `json:"failureMessage"`
	GVK            *struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	} `json:"gvk"`
	Package *struct {
		PackageName  string `json:"packageName"`
		VersionRange string `json:"versionRange"`
	} `json:"package"`
	All *constraints `json:"all"`
	Any *constraints `json:"any"`
	Not *constraints `json:"not"`
	Cel *struct {
		Rule string `json:"rule"`
	} `json:"cel"`
}

type constraints struct {
	Constraints []constraint `json:"constraints"`
}

// constrain adds the requirement in an olm.constraint property to the bundle. If it cannot read a part of the property,
// or if the property exceeds a limit, it ignores the whole property: without that part it could mean something else.
func (b *bundle) constrain(value json.RawMessage) {
	if len(value) > maxConstraintBytes || b.budget == 0 {
		return
	}
	decoder := json.NewDecoder(bytes.NewReader(value))
	decoder.DisallowUnknownFields() // OLM refuses unknown fields too
	var c constraint
	if decoder.Decode(&c) != nil {
		return
	}
	if r, ok := b.requirementOf(&c, maxConstraintDepth); ok {
		b.requires = append(b.requires, r)
	}
}

// requirementOf converts a constraint with parts nested up to depth levels. Each part takes 1 off the bundle's budget.
// ok is false if the constraint exceeds a limit, or if a part names nothing.
func (b *bundle) requirementOf(c *constraint, depth int) (r requirement, ok bool) {
	if depth == 0 || b.budget == 0 {
		return requirement{}, false
	}
	b.budget--
	switch {
	case c.GVK != nil:
		r = requirement{kind: provided, what: apiOf(c.GVK.Group, c.GVK.Version, c.GVK.Kind)}
	case c.Package != nil:
		r = requirement{kind: provided, what: packageOf(c.Package.PackageName)}
	case c.All != nil:
		return b.compound(allOf, c.All, depth)
	case c.Any != nil:
		return b.compound(anyOf, c.Any, depth)
	case c.Not != nil:
		return b.compound(noneOf, c.Not, depth)
	case c.Cel != nil:
		return requirement{kind: celRule}, true
	}
	return r, r.what != ""
}

func (b *bundle) compound(kind requirementKind, of *constraints, depth int) (r requirement, ok bool) {
	r.kind = kind
	for i := range of.Constraints {
		part, ok := b.requirementOf(&of.Constraints[i], depth-1)
		if !ok {
			return requirement{}, false
		}
		r.parts = append(r.parts, part)
	}
	return r, true
}
