// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// changeKind is what happens to a cluster.
type changeKind string

const (
	changeNone   changeKind = "None"
	changeNew    changeKind = "New"    // the cluster has nothing of the wrapper
	changeUpdate changeKind = "Update" // its objects become others
	// changeUnknown is for a cluster whose present objects the host cannot tell.
	changeUnknown changeKind = "Unknown"
	// changeRefused is for a cluster for which the wrapper cannot be rendered. The cluster keeps what it has.
	changeRefused changeKind = "NotRendered"
)

// change is what happens to some clusters of a wave.
type change struct {
	Clusters []string   `json:"clusters"`
	Change   changeKind `json:"change"`
	// Revision is what the clusters have now.
	Revision string         `json:"revision,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Objects  []objectChange `json:"objects,omitempty"`

	key changeKey
}

// changeKey is what clusters with the same change have in common.
type changeKey struct {
	kind                            changeKind
	revision, before, after, reason string
}

// comparison compares what members would have with what they have.
type comparison struct {
	*proposal
	round *render.Round
	lines map[string]*v1alpha1.ClusterStatus
	// stored are the revisions on the host by name, and renderers those that a member has.
	stored    map[string]*appsv1.ControllerRevision
	renderers map[string]earlier
	// known are the changes so far. One of them may be of many members.
	known map[changeKey]change
}

// earlier renders a revision that a member has, or says why hostctl cannot.
type earlier struct {
	renderer *render.Renderer
	err      error
}

func (p *proposal) newComparison(ctx context.Context) (*comparison, error) {
	renderer, err := render.New(p.wrapper.WrapperSpec(), p.namespace)
	if err != nil {
		return nil, err
	}
	c := &comparison{proposal: p, round: renderer.NewRound(), lines: make(map[string]*v1alpha1.ClusterStatus),
		stored: make(map[string]*appsv1.ControllerRevision), renderers: make(map[string]earlier), known: make(map[changeKey]change)}
	if p.present == nil {
		return c, nil
	}
	status := p.present.WrapperStatus()
	for i := range status.Clusters {
		c.lines[status.Clusters[i].Name] = &status.Clusters[i]
	}
	list, err := p.revisions(ctx, p.present)
	if err != nil {
		return nil, err
	}
	for i := range list {
		c.stored[list[i].Name] = &list[i]
	}
	return c, nil
}

// of is what happens to one member.
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
	made, done := c.known[key]
	if !done {
		made = change{Change: key.kind, Revision: key.revision, Reason: key.reason, key: key}
		if key.kind == changeNew || key.kind == changeUpdate {
			if made.Objects, err = c.objects(before, after, key.revision); err != nil {
				return change{}, err
			}
		}
		c.known[key] = made
	}
	return made, nil
}

// held is what a member has, nil if it has nothing. It sets the revision of the key, and a reason if the host cannot tell what the
// member has.
func (c *comparison) held(m selection.Member, key *changeKey) (*render.Variant, error) {
	line := c.lines[m.Name]
	if c.present == nil || line == nil && c.present.WrapperStatus().ClustersOmitted == 0 {
		return nil, nil //nolint:nilnil // a member without the wrapper has no rendering
	}
	switch {
	case line == nil:
		key.reason = "the status of the wrapper has no line for it"
		return nil, nil
	case line.State == v1alpha1.StateUnknown:
		key.reason = "the manager has not read it yet"
		return nil, nil
	case line.Revision == "":
		return nil, nil //nolint:nilnil // as above
	}
	key.revision = line.Revision
	if line.Revision == c.present.WrapperStatus().UpdateRevision && waitsForWave(line.Reason) {
		key.reason = "it has an earlier rendering of the same revision: its labels, or Fairlead itself, changed since"
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
		return nil, nil //nolint:nilerr // the reason says it
	}
	return before, nil
}

// waitsForWave reports whether the reason of a line says that the rollout has not updated the member.
func waitsForWave(reason string) bool {
	return slices.Contains([]rollout.Reason{rollout.WaitsForWave, rollout.WaitsForApproval, rollout.WaitsForSuspend, rollout.WaitsForTurn,
		rollout.WaitsForBudget, rollout.WaitsNoRendering}, rollout.Reason(reason))
}

// renderer renders a revision that a member has. The wrapper itself tells the content of its present revision, also if that holds a
// Secret.
func (c *comparison) renderer(name string) (*render.Renderer, error) {
	status := c.present.WrapperStatus()
	if name == status.UpdateRevision && status.ObservedGeneration == c.present.GetGeneration() {
		return render.New(c.present.WrapperSpec(), c.namespace)
	}
	stored := c.stored[name]
	if stored == nil {
		return nil, fmt.Errorf("the host has no revision %s any more", name)
	}
	content, err := contentOf(c.present, stored)
	if err != nil {
		return nil, err
	}
	spec, err := content.Spec()
	if err != nil {
		return nil, err
	}
	return render.New(spec, c.namespace)
}

// objects are the objects that differ between two renderings. before is nil for a member that has nothing.
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
	return objectChanges(was.Objects, is.Objects, names{before: held, after: c.title()}, c.wrapper.WrapperSpec().OnDelete)
}

// title names the wrapper's new side in a difference.
func (p *proposal) title() string {
	if p.source != "" {
		return p.source
	}
	return "present spec"
}

// withoutMember is the text of an error of a rendering. It leaves out the name of the member, so that the error of many is one entry.
func withoutMember(err error) string {
	if e := (*overrides.Error)(nil); errors.As(err, &e) {
		return e.For("").Error()
	}
	return err.Error()
}
