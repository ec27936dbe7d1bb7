// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/overrides"
)

// unknownUID stands for the uid of a wrapper that the host does not have yet.
const unknownUID = "<uid of the wrapper>"

// preview has the renderings of one wrapper for the chosen members.
type preview struct {
	wrapper v1alpha1.Wrapper
	groups  []*group
}

// group is one rendering, and the members that get it, sorted by name.
type group struct {
	rendering *render.Rendering
	members   []chosen
}

// newPreview renders the wrapper for each member. If the rendering fails for some members, it returns both an error and a preview for the
// others.
func newPreview(w sourced, members []chosen) (*preview, error) {
	if err := check(w, members); err != nil {
		return nil, err
	}
	renderer, err := render.New(upgrade.Resolve(w.WrapperSpec(), &w.WrapperStatus().Upgrade), w.GetNamespace())
	if err != nil {
		return nil, fmt.Errorf("rendering %s: %w", w.title(), err)
	}
	p := &preview{wrapper: w.Wrapper}
	byDigest := map[string]*group{}
	var failed []error
	round := renderer.NewRound()
	for _, m := range members {
		rendering, err := round.For(m.Member)
		if err != nil {
			failed = append(failed, fmt.Errorf("rendering %s: %w", w.title(), err))
			continue
		}
		g := byDigest[rendering.Digest]
		if g == nil {
			g = &group{rendering: rendering}
			byDigest[rendering.Digest] = g
			p.groups = append(p.groups, g)
		}
		g.members = append(g.members, m)
	}
	return p, errors.Join(failed...)
}

// check makes the checks of the host's webhooks, except those of the rollout and of startingCSV. A wrapper without a placement passes if
// flags chose the members.
func check(w sourced, members []chosen) error {
	var errs field.ErrorList
	for _, err := range overrides.Validate(w.WrapperSpec(), w.GetNamespace(), w.WrapperKind()) {
		if err.Field == "spec.placement.clusters" && err.Type == field.ErrorTypeRequired && len(members) > 0 && !members[0].placed {
			continue
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		errs = overrides.ValidateWork(w.WrapperSpec())
	}
	all := make([]error, 0, len(errs))
	for _, err := range errs {
		all = append(all, fmt.Errorf("checking %s: %w", w.title(), err))
	}
	return errors.Join(all...)
}

// TitleOf returns a wrapper's name for messages, for example "Federated shop/storefront".
func TitleOf(w v1alpha1.Wrapper) string {
	if w.WrapperKind() == v1alpha1.KindClusterFederated {
		return string(w.WrapperKind()) + " " + w.GetName()
	}
	return string(w.WrapperKind()) + " " + w.GetNamespace() + "/" + w.GetName()
}

// mark is one mark of an object. writeYAML describes it in one line of a comment. where is "label" or "annotation".
type mark struct{ where, key, value string }

// marks returns the marks of the wrapper's objects, in a form that is true for all of them. The digest differs between objects, so
// writeObjects prints it above each object.
func (p *preview) marks() []mark {
	w := p.wrapper
	object := marks.ObjectPath("<resource>", "<group>", w.GetNamespace(), "<name>")
	return []mark{
		{"label", v1alpha1.LabelUID, cmp.Or(string(w.GetUID()), unknownUID)},
		{"annotation", v1alpha1.AnnotationWrapper, marks.WrapperPath(w.WrapperKind(), w.GetNamespace(), w.GetName())},
		{"annotation", v1alpha1.AnnotationObject, object + ", with the resource under which the cluster serves the kind"},
		{"annotation", v1alpha1.AnnotationRendering, "the digest above each object"},
	}
}
