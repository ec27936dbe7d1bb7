// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/rollout/revisions"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// changeKind is what a change of the wrapper does to a member.
type changeKind string

const (
	changeNone   changeKind = "None"
	changeNew    changeKind = "New"    // the member has nothing of the wrapper
	changeUpdate changeKind = "Update" // objects on the member change
	// changeUnknown: hostctl cannot know which objects the member has now.
	changeUnknown changeKind = "Unknown"
	// changeRefused: hostctl cannot render the wrapper for the member. The member keeps the objects that it has.
	changeRefused changeKind = "NotRendered"
)

// change is one entry of the preview of a wave: what the change of the wrapper does to these members. It does the same to all of them (see
// changeKey).
type change struct {
	Clusters []string   `json:"clusters"`
	Change   changeKind `json:"change"`
	// Revision is the name of the revision that the members have now; "" if they have none.
	Revision string         `json:"revision,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Objects  []objectChange `json:"objects,omitempty"`
	// Reinstall tells what the manager removes, and what stays, where a later version than the target is installed and
	// spec.upgrade.rollback is Reinstall; "" if nothing is reinstalled.
	Reinstall string `json:"reinstall,omitempty"`

	key changeKey
}

// changeKey identifies a change: two changes with equal keys are the same. Members of a wave with equal keys share an entry of the preview.
type changeKey struct {
	kind                            changeKind
	revision, before, after, reason string
	reinstall                       string
}

// comparison compares the objects that members would get with the objects that they have now.
type comparison struct {
	proposal Proposal
	round    *render.Round
	lines    map[string]*v1alpha1.ClusterStatus
	// stored has the wrapper's revisions on the host, by name.
	stored map[string]*appsv1.ControllerRevision
	// renderers has the renderers that the comparison has made so far, by the name of their revision.
	renderers map[string]earlier
	// known has the changes that the comparison has computed so far. Members with equal keys get the same change.
	known map[changeKey]change
}

// earlier is the renderer of a revision that a member has, or the error why hostctl cannot render that revision.
type earlier struct {
	renderer *render.Renderer
	err      error
}

func newComparison(ctx context.Context, host client.Reader, p Proposal) (*comparison, error) {
	renderer, err := render.New(upgrade.Resolve(p.Wrapper.WrapperSpec(), &p.Wrapper.WrapperStatus().Upgrade), p.Wrapper.GetNamespace())
	if err != nil {
		return nil, err
	}
	c := &comparison{proposal: p, round: renderer.NewRound(), lines: make(map[string]*v1alpha1.ClusterStatus),
		stored: make(map[string]*appsv1.ControllerRevision), renderers: make(map[string]earlier), known: make(map[changeKey]change)}
	if p.Present == nil {
		return c, nil
	}
	status := p.Present.WrapperStatus()
	for i := range status.Clusters {
		c.lines[status.Clusters[i].Name] = &status.Clusters[i]
	}
	list, err := revisions.List(ctx, host, p.Present)
	if err != nil {
		return nil, err
	}
	for i := range list {
		c.stored[list[i].Name] = &list[i]
	}
	return c, nil
}

// of returns what the change of the wrapper does to member m.
func (c *comparison) of(m selection.Member) (change, error) {
	after, err := c.round.Variant(m)
	if err != nil {
		return change{Change: changeRefused, Reason: withoutMember(err), key: changeKey{kind: changeRefused, reason: withoutMember(err)}}, nil
	}
	key := changeKey{after: after.Digest()}
	before, err := c.held(m, &key)
	if err != nil {
		return change{}, err
	}
	switch {
	case key.reason != "":
		key.kind = changeUnknown
	case before == nil:
		key.kind = changeNew
	case before.Digest() == after.Digest():
		key = changeKey{kind: changeNone, after: after.Digest()}
	default:
		key.kind, key.before = changeUpdate, before.Digest()
	}
	if key.reinstall, err = c.reinstall(m.Name, before, after); err != nil {
		return change{}, err
	}
	made, done := c.known[key]
	if !done {
		made = change{Change: key.kind, Revision: key.revision, Reason: key.reason, Reinstall: key.reinstall, key: key}
		if key.kind == changeNew || key.kind == changeUpdate {
			if made.Objects, err = c.objects(before, after, key.revision); err != nil {
				return change{}, err
			}
		}
		c.known[key] = made
	}
	return made, nil
}

// held returns the rendering that member m has now, or nil if the member has nothing. It sets key.revision to the member's revision. If
// hostctl cannot know what the member has, held returns nil and sets key.reason.
func (c *comparison) held(m selection.Member, key *changeKey) (*render.Variant, error) {
	line := c.lines[m.Name]
	if c.proposal.Present == nil || line == nil && c.proposal.Present.WrapperStatus().ClustersOmitted == 0 {
		return nil, nil //nolint:nilnil // a member without the wrapper has no rendering
	}
	switch {
	case line == nil:
		key.reason = "the status of the wrapper has no line for the cluster"
		return nil, nil
	case line.State == v1alpha1.StateUnknown:
		key.reason = "the manager has not read the cluster yet"
		return nil, nil
	case line.Revision == "":
		return nil, nil //nolint:nilnil // a member without a revision has no rendering
	}
	key.revision = line.Revision
	if line.Revision == c.proposal.Present.WrapperStatus().UpdateRevision && waitsForWave(line.Reason) {
		key.reason = "the cluster still has objects that Fairlead rendered from the same revision before the cluster's labels or the version of Fairlead changed"
		return nil, nil
	}
	known, done := c.renderers[line.Revision]
	if !done {
		known.renderer, known.err = c.renderer(line.Revision)
		c.renderers[line.Revision] = known
	}
	if known.err != nil {
		key.reason = known.err.Error()
		return nil, nil
	}
	before, err := known.renderer.VariantFor(m)
	if err != nil {
		key.reason = withoutMember(err)
		return nil, nil //nolint:nilerr // key.reason has the error
	}
	return before, nil
}

// waitsForWave reports whether a reason in a member's line means that the rollout has not updated this member yet.
func waitsForWave(reason string) bool {
	return slices.Contains([]rollout.Reason{rollout.WaitsForWave, rollout.WaitsForApproval, rollout.WaitsForSuspend, rollout.WaitsForTurn,
		rollout.WaitsForBudget, rollout.WaitsNoRendering}, rollout.Reason(reason))
}

// renderer returns the renderer of a revision that a member has. For the update revision it takes the wrapper's spec and not the stored
// revision, because a stored revision with a Secret is encrypted.
func (c *comparison) renderer(name string) (*render.Renderer, error) {
	status := c.proposal.Present.WrapperStatus()
	if name == status.UpdateRevision && status.ObservedGeneration == c.proposal.Present.GetGeneration() {
		return render.New(upgrade.Resolve(c.proposal.Present.WrapperSpec(), &status.Upgrade), c.proposal.Wrapper.GetNamespace())
	}
	stored := c.stored[name]
	if stored == nil {
		return nil, fmt.Errorf("the host has no revision %s any more", name)
	}
	content, err := revisions.ContentOf(c.proposal.Present, stored)
	if err != nil {
		return nil, err
	}
	spec, err := content.Spec()
	if err != nil {
		return nil, err
	}
	return render.New(spec, c.proposal.Wrapper.GetNamespace())
}

// objects returns the objects that differ between two renderings. before is nil for a member that has nothing. held is the name of the
// revision from which before was rendered.
func (c *comparison) objects(before, after *render.Variant, held string) ([]objectChange, error) {
	is, err := after.Render()
	if err != nil {
		return nil, err
	}
	was := &render.Rendering{}
	if before != nil {
		if was, err = before.Render(); err != nil {
			return nil, err
		}
	}
	return objectChanges(was.Objects, is.Objects, names{before: held, after: c.proposal.title()}, c.proposal.Wrapper.WrapperSpec().OnDelete)
}

// title returns the name for the header of a diff that stands for the wrapper after the change: the file, or the present spec.
func (p *Proposal) title() string {
	if p.Source != "" {
		return p.Source
	}
	return "present spec"
}

// withoutMember returns the message of a rendering error without the name of the member. Members with the same error can then share an
// entry of the preview.
func withoutMember(err error) string {
	if e := (*overrides.Error)(nil); errors.As(err, &e) {
		return e.For("").Error()
	}
	return err.Error()
}
