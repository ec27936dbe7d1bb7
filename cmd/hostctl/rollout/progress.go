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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/render"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// barWidth is the number of cells of the progress bar on a terminal.
const barWidth = 20

// progress is how far a rollout has come.
type progress struct {
	Wrapper string `json:"wrapper"`
	// Revision is the revision that goes out. State is empty until the manager has acted on the present spec.
	Revision string                `json:"revision,omitempty"`
	State    v1alpha1.RolloutState `json:"state,omitempty"`
	Wave     string                `json:"wave,omitempty"`
	Since    metav1.Time           `json:"since,omitempty,omitzero"`
	// WaitingFor is the reason why nothing more happens now, and Message says it to a person, with the way out.
	WaitingFor     string `json:"waitingFor,omitempty"`
	Message        string `json:"message,omitempty"`
	WaitsForPerson bool   `json:"waitsForPerson"`
	Updated        int32  `json:"updated"`
	Placed         int32  `json:"placed"`
	// Omitted is how many clusters have no line in the wrapper's status.
	Omitted  int32         `json:"omitted,omitempty"`
	Clusters []clusterLine `json:"clusters"`
}

// clusterLine is one cluster. A cluster that the wrapper is leaving is in no wave.
type clusterLine struct {
	Wave     string                `json:"wave,omitempty"`
	Name     string                `json:"name"`
	Revision string                `json:"revision,omitempty"`
	Version  string                `json:"version,omitempty"`
	State    v1alpha1.ClusterState `json:"state"`
	Since    metav1.Time           `json:"since,omitempty,omitzero"`
	Reason   string                `json:"reason,omitempty"`

	order int
}

// read reads the wrapper and the labels of the members, which decide on their waves.
func (o *StatusOptions) read(ctx context.Context) (*progress, error) {
	w, err := o.wrapper(ctx)
	if err != nil {
		return nil, err
	}
	if !w.WrapperSpec().Rollout.IsPaced() {
		return nil, fmt.Errorf("reading the rollout of %s: %w", render.TitleOf(w), errNoRollout)
	}
	plan, err := rollout.Compile(rollout.StrategyOf(&w.WrapperSpec().Rollout))
	if err != nil {
		return nil, fmt.Errorf("reading the waves of %s: %w", render.TitleOf(w), err)
	}
	list := &v1alpha1.MemberClusterList{}
	if err := o.host.List(ctx, list); err != nil {
		return nil, fmt.Errorf("listing the members: %w", err)
	}
	labels := make(map[string]map[string]string, len(list.Items))
	for i := range list.Items {
		labels[list.Items[i].Name] = list.Items[i].Labels
	}
	return o.progressOf(w, plan, labels), nil
}

func (o *StatusOptions) progressOf(w v1alpha1.Wrapper, plan *rollout.Plan, labels map[string]map[string]string) *progress {
	status := w.WrapperStatus()
	p := &progress{Wrapper: render.TitleOf(w), Updated: ptr.Deref(status.Counts.Updated, 0), Placed: ptr.Deref(status.Counts.Placed, 0),
		Omitted: status.ClustersOmitted, Clusters: []clusterLine{}}
	o.describe(p, w)
	for i := range status.Clusters {
		line := &status.Clusters[i]
		c := clusterLine{Name: line.Name, Revision: line.Revision, Version: line.Version, State: line.State,
			Since: line.LastTransitionTime, Reason: line.Reason, order: len(w.WrapperSpec().Rollout.Waves) + 1}
		if !slices.Contains(status.Placement.Leaving, line.Name) {
			c.order, c.Wave = plan.WaveOf(selection.Member{Name: line.Name, Labels: labels[line.Name]})
		}
		p.Clusters = append(p.Clusters, c)
	}
	slices.SortFunc(p.Clusters, func(a, b clusterLine) int { return cmp.Or(cmp.Compare(a.order, b.order), cmp.Compare(a.Name, b.Name)) })
	return p
}

// describe says where the rollout stands, what it waits for, and how a person lets it go on.
func (t *Target) describe(p *progress, w v1alpha1.Wrapper) {
	r := &w.WrapperStatus().Rollout
	switch {
	case w.GetDeletionTimestamp() != nil:
		p.Message = errDeleted.Error()
		return
	case !r.Exists() || w.WrapperStatus().ObservedGeneration != w.GetGeneration():
		p.Message = "the host's manager has not acted on the present spec yet"
		return
	}
	p.Revision, p.State, p.Wave, p.Since, p.WaitingFor = r.Revision, r.State, r.Wave, r.Since, r.WaitingFor
	p.Message = report.NewRollout(r, messages.ApproveCommand(t.kind, t.namespace, t.name)).Message
	if p.WaitingFor == v1alpha1.ReasonSuspended && w.WrapperSpec().Suspend == v1alpha1.SuspendRollout {
		p.Message += fmt.Sprintf("; `%s` lets it go on", t.commandLine("resume"))
	}
	p.WaitsForPerson = p.isStopped() || p.WaitingFor == v1alpha1.ReasonWaveNeedsApproval || p.WaitingFor == v1alpha1.ReasonSuspended
}

func (p *progress) isStopped() bool {
	return p.State == v1alpha1.RolloutPaused || p.State == v1alpha1.RolloutRolledBack
}

// text is the table of the clusters, and after it what stays on the screen when the table is long.
func (p *progress) text(now time.Time, bar bool) (string, error) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, "WAVE\tCLUSTER\tREVISION\tVERSION\tSTATE\tSINCE\tREASON") // Flush says what went wrong
	for i := range p.Clusters {
		c := &p.Clusters[i]
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", orDash(c.Wave), c.Name, orDash(c.Revision), orDash(c.Version), c.State,
			age(now, c.Since), orDash(c.Reason))
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
	return b.String(), nil
}

func (p *progress) counts() string {
	return fmt.Sprintf("%d of %d clusters updated", p.Updated, p.Placed)
}

// sentence says where the rollout stands. With the zero time it leaves out for how long.
func (p *progress) sentence(now time.Time) string {
	if p.State == "" {
		return p.Wrapper + ": " + p.Message
	}
	words := fmt.Sprintf("%s: the rollout of %s is %s", p.Wrapper, p.Revision, p.State)
	if p.Wave != "" {
		words += " in wave " + p.Wave
	}
	if !p.Since.IsZero() && !now.IsZero() {
		words += " since " + age(now, p.Since)
	}
	if p.Message != "" {
		words += ": " + p.Message
	}
	if p.WaitingFor != "" {
		words += " (" + p.WaitingFor + ")"
	}
	return words
}

func age(now time.Time, since metav1.Time) string {
	if since.IsZero() {
		return "-"
	}
	return duration.HumanDuration(now.Sub(since.Time))
}

func orDash(text string) string { return cmp.Or(text, "-") }
