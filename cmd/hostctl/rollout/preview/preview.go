// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/placement"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// Proposal is a wrapper to preview.
type Proposal struct {
	// Wrapper is the wrapper after the change.
	Wrapper v1alpha1.Wrapper
	// Present is the wrapper on the host now; nil if the host does not have it. Without a file, Present and Wrapper are the same.
	Present v1alpha1.Wrapper
	// Source is the name of the file; "" if the wrapper comes from the host.
	Source string
	// Rollout is a sentence about the present rollout; "" if there is none.
	Rollout string
}

// Preview tells what a change of a wrapper does. `rollout preview` prints it.
type Preview struct {
	Wrapper string `json:"wrapper"`
	// File is the name of the file; "" if the wrapper comes from the host.
	File string `json:"file,omitempty"`
	// New is true if the host does not have the wrapper.
	New bool `json:"new,omitempty"`
	// Placement is the message that the condition Placed would have.
	Placement string `json:"placement"`
	// Notes are further remarks for a person, for example the state of the present rollout.
	Notes []string `json:"notes,omitempty"`
	// Paced is false if all members change at the same time. Waves then has one entry.
	Paced          bool                   `json:"paced"`
	MaxUnavailable int                    `json:"maxUnavailable,omitempty"`
	OnFailure      v1alpha1.FailurePolicy `json:"onFailure,omitempty"`
	Placed         int                    `json:"placed"`
	Waves          []wavePreview          `json:"waves"`
	// Leaving are the members from which the manager removes the wrapper.
	Leaving []string `json:"leaving,omitempty"`
	// Withheld are the members whose removal waits because of spec.rollout.maxRemoval.
	Withheld []string `json:"withheld,omitempty"`
}

// wavePreview is one wave. The rollout passes a wave without members at once.
type wavePreview struct {
	Name     string `json:"name"`
	Clusters int    `json:"clusters"`
	// MaxConcurrent is the largest number of members of the wave that change at the same time.
	MaxConcurrent int   `json:"maxConcurrent"`
	SoakSeconds   int64 `json:"soakSeconds,omitempty"`
	MaxFailures   int   `json:"maxFailures,omitempty"`
	// Stage is the progress of the present rollout in this wave. It is "" if the rollout has not begun the wave, or if the change of
	// the wrapper makes the wave begin again.
	Stage waveStage `json:"stage,omitempty"`
	// Approval is Manual if the wave needs an Approval; "" if it needs none.
	Approval v1alpha1.WaveApproval `json:"approval,omitempty"`
	// Approve is the hostctl command that approves the wave; "" if the wave needs no Approval now.
	Approve string   `json:"approve,omitempty"`
	Changes []change `json:"changes"`
}

// waveStage is the progress of the present rollout in a wave.
type waveStage string

const (
	waveBegun  waveStage = "Begun"
	wavePassed waveStage = "Passed"
)

// Of decides which members get the wrapper, renders it for each of them, and compares the rendering with what the member has. It calls
// the manager's own functions, so the manager would do what the result tells.
func Of(ctx context.Context, host client.Reader, p Proposal, members []selection.Member, now time.Time) (*Preview, error) {
	spec, kind, namespace := p.Wrapper.WrapperSpec(), p.Wrapper.WrapperKind(), p.Wrapper.GetNamespace()
	if faults := overrides.Validate(spec, namespace, kind); len(faults) > 0 {
		return nil, faults.ToAggregate()
	}
	plan, err := rollout.Compile(rollout.StrategyOf(&spec.Rollout))
	if err != nil {
		return nil, err
	}
	decided, err := p.place(ctx, host, members, now)
	if err != nil {
		return nil, err
	}
	out := &Preview{
		Wrapper: render.TitleOf(p.Wrapper), File: p.Source, New: p.Present == nil, Placement: decided.Message, Paced: spec.Rollout.IsPaced(),
		Placed: len(decided.Status.Clusters), Leaving: decided.Status.Leaving, Withheld: decided.Status.Withheld,
	}
	out.limits(plan)
	isNew, err := p.isNewRevision()
	if err != nil {
		return nil, err
	}
	out.Notes = p.notes(isNew)
	byName := make(map[string]selection.Member, len(members))
	for _, m := range members {
		byName[m.Name] = m
	}
	compared, err := newComparison(ctx, host, p)
	if err != nil {
		return nil, err
	}
	waves := plan.Waves()
	out.Waves = make([]wavePreview, len(waves))
	for _, name := range decided.Status.Clusters {
		c, err := compared.of(byName[name])
		if err != nil {
			return nil, err
		}
		wave, _ := plan.WaveOf(byName[name])
		out.Waves[wave].add(name, c)
	}
	for i := range waves {
		if !isNew {
			out.Waves[i].Stage = p.stage(waves, i)
		}
		out.Waves[i].describe(&waves[i], messages.ApproveCommand(kind, namespace, p.Wrapper.GetName()))
	}
	return out, nil
}

// place decides which members get the wrapper. As the manager does, it starts from the previous decision in the wrapper's status.
func (p *Proposal) place(ctx context.Context, host client.Reader, members []selection.Member, now time.Time) (placement.Decision, error) {
	in := placement.Input{
		Wrapper: v1alpha1.Identity(p.Wrapper), Spec: p.Wrapper.WrapperSpec().Placement, Overrides: p.Wrapper.WrapperSpec().Overrides,
		MaxRemoval: p.Wrapper.WrapperSpec().Rollout.MaxRemoval, Members: members,
	}
	if p.Present != nil {
		in.Previous = *p.Present.WrapperStatus().Placement.DeepCopy()
		list := &v1alpha1.ApprovalList{}
		if err := host.List(ctx, list, client.InNamespace(in.Wrapper.Beside())); err != nil {
			return placement.Decision{}, fmt.Errorf("listing the approvals: %w", err)
		}
		in.Approvals = list.Items
	}
	return placement.Decide(in, now)
}

// limits sets the limits that hold for the waves together: maxUnavailable and onFailure.
func (p *Preview) limits(plan *rollout.Plan) {
	if !p.Paced {
		return
	}
	p.OnFailure = v1alpha1.FailurePause
	if plan.MayRollBack() {
		p.OnFailure = v1alpha1.FailureRollback
	}
	if count, limited := plan.Unavailable(p.Placed); limited {
		p.MaxUnavailable = count
	}
}

// isNewRevision reports whether the change begins a rollout: objects, overrides or upgrade differ from those of the wrapper on the host. It
// also returns true if the host does not have the wrapper, or if the manager has not acted on the present spec yet.
func (p *Proposal) isNewRevision() (bool, error) {
	after, err := revision.Of(p.Wrapper.WrapperSpec())
	if err != nil || p.Present == nil || p.Present.WrapperStatus().ObservedGeneration != p.Present.GetGeneration() {
		return true, err
	}
	before, err := revision.Of(p.Present.WrapperSpec())
	return err != nil || before.Hash != after.Hash, nil //nolint:nilerr // hostctl cannot decode the spec on the host, so the new spec counts as different
}

// notes returns remarks about other things that decide when a member changes: the present rollout, and spec.suspend.
func (p *Proposal) notes(isNewRevision bool) []string {
	var notes []string
	if p.Rollout != "" {
		notes = append(notes, p.Rollout)
	}
	if p.Source != "" && !isNewRevision {
		notes = append(notes, "objects, overrides and upgrade are the same as on the host, so this change begins no rollout, unless it edits the waves of one that is under way")
	}
	switch p.Wrapper.WrapperSpec().Suspend {
	case v1alpha1.SuspendAll:
		notes = append(notes, "spec.suspend is All, so the manager changes no cluster until it is None")
	case v1alpha1.SuspendRollout:
		notes = append(notes, "spec.suspend is Rollout, so no wave begins until it is None")
	}
	return notes
}

// stage returns the progress of the present rollout in the wave with index i. It returns "" if the rollout has not begun the wave, or if
// the author has changed the waves.
func (p *Proposal) stage(waves []rollout.Wave, i int) waveStage {
	r := &p.Present.WrapperStatus().Rollout
	current := slices.IndexFunc(waves, func(w rollout.Wave) bool { return w.Name == r.Wave })
	switch {
	case r.State == v1alpha1.RolloutComplete:
		return wavePassed
	case r.State != v1alpha1.RolloutProgressing || current < 0:
		return ""
	case !equality.Semantic.DeepEqual(p.Wrapper.WrapperSpec().Rollout.Waves, p.Present.WrapperSpec().Rollout.Waves):
		return "" // after a change of the waves, the manager decides anew which wave is the current one
	case i < current:
		return wavePassed
	case i == current && r.Begun == v1alpha1.Yes:
		return waveBegun
	}
	return ""
}

// add adds a member to the entry for its change. Members with the same change share an entry.
func (w *wavePreview) add(name string, c change) {
	w.Clusters++
	for i := range w.Changes {
		if w.Changes[i].key == c.key {
			w.Changes[i].Clusters = append(w.Changes[i].Clusters, name)
			return
		}
	}
	c.Clusters = []string{name}
	w.Changes = append(w.Changes, c)
}

func (w *wavePreview) describe(wave *rollout.Wave, approve string) {
	w.Name, w.SoakSeconds, w.MaxFailures = wave.Name, int64(wave.Soak.Seconds()), wave.MaxFailures
	w.MaxConcurrent = min(w.Clusters, wave.Concurrent(w.Clusters))
	if w.Changes == nil {
		w.Changes = []change{}
	}
	if wave.Manual {
		w.Approval = v1alpha1.WaveManual
		if w.Stage == "" && w.changesAny() {
			w.Approve = approve + " --wave " + wave.Name
		}
	}
}

// changesAny reports whether a member of the wave changes. The rollout passes a wave without changes, and waits for no approval.
func (w *wavePreview) changesAny() bool {
	return slices.ContainsFunc(w.Changes, func(c change) bool { return c.Change != changeNone })
}

// Refusals returns an error for each group of members for which hostctl cannot render the wrapper. These members keep what they have.
func (p *Preview) Refusals() []error {
	var errs []error
	for i := range p.Waves {
		for _, c := range p.Waves[i].Changes {
			if c.Change == changeRefused {
				errs = append(errs, fmt.Errorf("rendering %s for %s: %s", p.Wrapper, messages.Few(c.Clusters, maxNames), c.Reason))
			}
		}
	}
	return errs
}
