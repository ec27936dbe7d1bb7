// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/screen"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// barWidth is the length of the progress bar on a terminal, in characters.
const barWidth = 20

// notActedYet is the message while the status belongs to an earlier generation of the spec.
const notActedYet = "the host's manager has not acted on the present spec yet"

// progress is how far a change of the wrapper has come. `rollout status` prints it.
type progress struct {
	Wrapper string `json:"wrapper"`
	// Revision is the name of the revision that the members are to get; "" until the manager has acted on the present spec.
	Revision string `json:"revision,omitempty"`
	// State is the state of the rollout; "" if the wrapper has none, and until the manager has acted on the present spec.
	State v1alpha1.RolloutState `json:"state,omitempty"`
	// Ready is the status of the wrapper's condition Ready, for a wrapper without a rollout; "" until the manager has acted on the
	// present spec.
	Ready metav1.ConditionStatus `json:"ready,omitempty"`
	Wave  string                 `json:"wave,omitempty"`
	Since metav1.Time            `json:"since,omitempty,omitzero"`
	// WaitingFor is the reason why no further member changes now; "" if there is none.
	WaitingFor string `json:"waitingFor,omitempty"`
	// Message tells a person why the rollout waits, and what to do.
	Message        string `json:"message,omitempty"`
	WaitsForPerson bool   `json:"waitsForPerson"`
	Updated        int32  `json:"updated"`
	Placed         int32  `json:"placed"`
	// Omitted is the number of members without a line in the wrapper's status.
	Omitted  int32         `json:"omitted,omitempty"`
	Clusters []clusterLine `json:"clusters"`
	// Versions has the version that goes out for each Subscription with `approve: Latest`.
	Versions []v1alpha1.SubscriptionVersion `json:"versions,omitempty"`

	// paced is true if the wrapper has a rollout. stalled is true if it has none and a person has to change something.
	paced, stalled bool
}

// clusterLine is one member in the output. Wave is "" for a member that the wrapper is leaving, and for every member of a wrapper without a
// rollout.
type clusterLine struct {
	Wave     string                `json:"wave,omitempty"`
	Name     string                `json:"name"`
	Revision string                `json:"revision,omitempty"`
	Version  string                `json:"version,omitempty"`
	State    v1alpha1.ClusterState `json:"state"`
	Since    metav1.Time           `json:"since,omitempty,omitzero"`
	Reason   string                `json:"reason,omitempty"`

	leaving bool
	order   int
}

// read reads the wrapper from the host. For a wrapper with a rollout it also reads the MemberClusters: their labels decide in which wave
// each member is. MemberClusters are cluster-scoped, so a person with rights in one namespace may not list them. That person gets the
// status of the wrapper, which has the current wave, but not the wave of each member.
func (o *StatusOptions) read(ctx context.Context) (*progress, error) {
	w, err := o.wrapper(ctx)
	if err != nil {
		return nil, err
	}
	if !w.WrapperSpec().Rollout.IsPaced() {
		return o.progressOf(w, func(string) (int, string) { return 0, "" }), nil
	}
	plan, err := rollout.Compile(rollout.StrategyOf(&w.WrapperSpec().Rollout))
	if err != nil {
		return nil, fmt.Errorf("reading the waves of %s: %w", render.TitleOf(w), err)
	}
	list := &v1alpha1.MemberClusterList{}
	err = o.host.List(ctx, list)
	if apierrors.IsForbidden(err) {
		o.noteUnknownWaves()
		return o.progressOf(w, func(string) (int, string) { return 0, "" }), nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the members: %w", err)
	}
	labels := make(map[string]map[string]string, len(list.Items))
	for i := range list.Items {
		labels[list.Items[i].Name] = list.Items[i].Labels
	}
	return o.progressOf(w, func(name string) (int, string) {
		return plan.WaveOf(selection.Member{Name: name, Labels: labels[name]})
	}), nil
}

// noteUnknownWaves prints once why no member has a wave.
func (o *StatusOptions) noteUnknownWaves() {
	if o.wavesNoted {
		return
	}
	o.wavesNoted = true
	_, _ = fmt.Fprintln(o.ErrOut, "• the waves of the members are not shown, because your account may not list MemberClusters (ClusterRole fairlead-viewer grants it)")
}

// progressOf takes the progress from the status of a wrapper. waveOf returns the position and the name of a member's wave.
func (o *StatusOptions) progressOf(w v1alpha1.Wrapper, waveOf func(name string) (int, string)) *progress {
	status := w.WrapperStatus()
	p := &progress{Wrapper: render.TitleOf(w), Updated: ptr.Deref(status.Counts.Updated, 0), Placed: ptr.Deref(status.Counts.Placed, 0),
		Omitted: status.ClustersOmitted, Clusters: []clusterLine{}, Versions: status.Upgrade.Subscriptions,
		paced: w.WrapperSpec().Rollout.IsPaced()}
	for i := range status.Clusters {
		line := &status.Clusters[i]
		c := clusterLine{Name: line.Name, Revision: line.Revision, Version: line.Version, State: line.State,
			Since: line.LastTransitionTime, Reason: line.Reason, order: len(w.WrapperSpec().Rollout.Waves) + 1}
		if c.leaving = slices.Contains(status.Placement.Leaving, line.Name); !c.leaving {
			c.order, c.Wave = waveOf(line.Name)
		}
		p.Clusters = append(p.Clusters, c)
	}
	slices.SortFunc(p.Clusters, func(a, b clusterLine) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Name, b.Name)) })
	if p.paced {
		o.describe(p, w)
	} else {
		o.describeUnpaced(p, w)
	}
	return p
}

// describe sets the state of the rollout, the reason why it waits, and what a person has to do.
func (t *Target) describe(p *progress, w v1alpha1.Wrapper) {
	r := &w.WrapperStatus().Rollout
	switch {
	case w.GetDeletionTimestamp() != nil:
		p.Message = errDeleted.Error()
		return
	case !r.Exists() || w.WrapperStatus().ObservedGeneration != w.GetGeneration():
		p.Message = notActedYet
		return
	}
	p.Revision, p.State, p.Wave, p.Since, p.WaitingFor = r.Revision, r.State, r.Wave, r.Since, r.WaitingFor
	p.Message = report.RolloutMessage(w.WrapperStatus(), messages.ApproveCommand(t.kind, t.namespace, t.name))
	if p.WaitingFor == v1alpha1.ReasonSuspended {
		switch w.WrapperSpec().Suspend {
		case v1alpha1.SuspendRollout:
			p.Message += fmt.Sprintf("; `%s` lets the rollout go on", t.commandLine("resume"))
		case v1alpha1.SuspendAll:
			p.Message += fmt.Sprintf("; `%s --all` lets all writes go on", t.commandLine("resume"))
		case v1alpha1.SuspendNone: // the manager has not seen it yet
		}
	}
	p.WaitsForPerson = p.isStopped() || p.WaitingFor == v1alpha1.ReasonWaveNeedsApproval || p.WaitingFor == v1alpha1.ReasonSuspended || p.membersWait(w.WrapperStatus())
}

// membersWait reports whether members wait for a person, with or without a rollout: for the approval of a removal or of an InstallPlan,
// because they are on hold, or because a new version waits while the wrapper is suspended.
func (p *progress) membersWait(status *v1alpha1.WrapperStatus) bool {
	return ptr.Deref(status.Counts.Held, 0) > 0 ||
		slices.ContainsFunc(p.Clusters, func(c clusterLine) bool { return c.Reason == v1alpha1.ReasonApprovalRequired }) ||
		slices.ContainsFunc(p.Versions, func(s v1alpha1.SubscriptionVersion) bool { return s.Reason == v1alpha1.ReasonSuspended })
}

func (p *progress) isStopped() bool {
	return p.State == v1alpha1.RolloutPaused || p.State == v1alpha1.RolloutRolledBack
}

// text returns a table of the members and below it a summary. The summary stays visible if the table is longer than the screen.
func (p *progress) text(now time.Time, bar bool) (string, error) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	wave := func(text string) string { // the first column, which a wrapper without a rollout does not have
		if !p.paced {
			return ""
		}
		return text + "\t"
	}
	_, _ = fmt.Fprintln(w, wave("WAVE")+"CLUSTER\tREVISION\tVERSION\tSTATE\tSINCE\tREASON") // Flush returns the error
	for i := range p.Clusters {
		c := &p.Clusters[i]
		_, _ = fmt.Fprintf(w, "%s%s\t%s\t%s\t%s\t%s\t%s\n", wave(orDash(c.Wave)), c.Name, orDash(c.Revision), orDash(c.Version), c.State,
			screen.Age(now, c.Since), orDash(c.Reason))
	}
	if err := w.Flush(); err != nil {
		return "", err
	}
	if p.Omitted > 0 {
		fmt.Fprintf(&b, "%d more clusters have no line in the wrapper's status\n", p.Omitted)
	}
	b.WriteString("\n")
	if bar && p.Placed > 0 {
		full := int(barWidth * p.Updated / p.Placed)
		fmt.Fprintf(&b, "[%s%s] ", strings.Repeat("█", full), strings.Repeat("░", barWidth-full))
	}
	fmt.Fprintf(&b, "%s\n%s\n", p.counts(), p.sentence(now))
	for i := range p.Versions {
		b.WriteString(versionWords(&p.Versions[i], now))
	}
	return b.String(), nil
}

// versionWords returns the line about a Subscription with `approve: Latest`: the version that the manager took last, and the reason why it
// takes no later one. If now is the zero time, the line does not tell how long ago that was.
func versionWords(s *v1alpha1.SubscriptionVersion, now time.Time) string {
	words := fmt.Sprintf("Subscription %s: the manager has taken no version yet", s.Name)
	if s.CSV != "" {
		words = fmt.Sprintf("Subscription %s: the manager took %s", s.Name, s.CSV)
		if !now.IsZero() {
			words += " " + screen.Age(now, s.Since) + " ago"
		}
	}
	if s.Reason != "" {
		words += fmt.Sprintf("; %s (%s)", s.Message, s.Reason)
	}
	return words + "\n"
}

func (p *progress) counts() string {
	return fmt.Sprintf("%d of %d clusters updated", p.Updated, p.Placed)
}

// sentence returns the state of the rollout as one sentence. If now is the zero time, the sentence leaves out the age of the state.
func (p *progress) sentence(now time.Time) string {
	if p.Ready != "" {
		return p.unpacedSentence(now)
	}
	if p.State == "" {
		return p.Wrapper + ": " + p.Message
	}
	words := fmt.Sprintf("%s: the rollout of %s is %s", p.Wrapper, p.Revision, p.State)
	if p.Wave != "" {
		words += " in wave " + p.Wave
	}
	if !p.Since.IsZero() && !now.IsZero() {
		words += " since " + screen.Age(now, p.Since)
	}
	if p.Message != "" {
		words += ": " + p.Message
	}
	if p.WaitingFor != "" {
		words += " (" + p.WaitingFor + ")"
	}
	return words
}

func orDash(text string) string { return cmp.Or(text, "-") }
