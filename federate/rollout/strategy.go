// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// Rest is the name of the wave that follows the waves of the spec. It has the members that no other wave selects.
const Rest = "rest"

// DefaultProgressDeadline is the progress deadline of a strategy that gives none.
const DefaultProgressDeadline = 600 * time.Second

// FailureAction is what the manager does when more members of a wave fail than the wave allows.
type FailureAction string

// The actions on failure.
const (
	// Pause updates no further member. Updated members keep the new revision. It is the default.
	Pause FailureAction = "Pause"
	// Rollback takes every member back to the last good revision. If none exists, it does the same as Pause.
	Rollback FailureAction = "Rollback"
)

// Strategy is spec.rollout as this package uses it. Without Waves all members are in the wave Rest.
type Strategy struct {
	Waves []Wave
	// ProgressDeadline is how long a member may take to become Healthy; 0 means DefaultProgressDeadline.
	ProgressDeadline time.Duration
	// MaxUnavailable limits how many placed members may be not Healthy: another update starts only while fewer members
	// than this are not Healthy. It is a number, or a percentage that is rounded up; its value is at least 1. nil means
	// no limit.
	MaxUnavailable *intstr.IntOrString
	// OnFailure is the action on failure; "" means Pause.
	OnFailure FailureAction
}

// addsRest reports whether Compile adds the wave Rest, because no wave selects every remaining member.
func (s *Strategy) addsRest() bool {
	return !slices.ContainsFunc(s.Waves, func(w Wave) bool { return w.Clusters == nil })
}

// Wave is one group of members.
type Wave struct {
	Name     string
	Clusters *v1alpha1.ClusterSelection // nil selects every member that no earlier wave selects
	// MaxConcurrent is how many members of the wave are updated at the same time: a number, or a percentage of the wave
	// that is rounded up; its value is at least 1. nil means all of them.
	MaxConcurrent *intstr.IntOrString
	// Soak is for how long all members of the wave have to be Healthy before the next wave begins.
	Soak time.Duration
	// Manual is true if the wave begins only after an Approval.
	Manual bool
	// MaxFailures is how many members of the wave may fail without a consequence. OnFailure applies when one more
	// fails.
	MaxFailures int
}

// StrategyOf converts spec.rollout of a wrapper into a Strategy.
func StrategyOf(spec *v1alpha1.Rollout) Strategy {
	seconds := func(n *int32) time.Duration { return time.Duration(ptr.Deref(n, 0)) * time.Second }
	s := Strategy{
		ProgressDeadline: time.Duration(spec.ProgressDeadlineSeconds) * time.Second,
		MaxUnavailable:   spec.MaxUnavailable,
		OnFailure:        FailureAction(spec.OnFailure),
	}
	for i := range spec.Waves {
		w := &spec.Waves[i]
		s.Waves = append(s.Waves, Wave{
			Name: w.Name, Clusters: w.Clusters, MaxConcurrent: w.MaxConcurrent, Soak: seconds(w.SoakSeconds),
			Manual: w.Approval == v1alpha1.WaveManual, MaxFailures: int(ptr.Deref(w.MaxFailures, 0)),
		})
	}
	return s
}

// Plan is a compiled Strategy, for use in many decisions. It is immutable.
type Plan struct {
	waves          []compiledWave
	deadline       time.Duration
	maxUnavailable *intstr.IntOrString
	onFailure      FailureAction
	// identity is a digest of the names and the selections of the waves.
	identity string
}

type compiledWave struct {
	Wave
	selects selection.Selection
}

// Compile checks a Strategy and compiles it into a Plan. The error joins the errors of all invalid fields. Each of them
// names its field.
func Compile(s Strategy) (*Plan, error) {
	p := &Plan{deadline: s.ProgressDeadline, maxUnavailable: s.MaxUnavailable, onFailure: s.OnFailure}
	var errs []error
	fail := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("spec.rollout.%s: %s", field, fmt.Sprintf(format, args...)))
	}
	if p.deadline == 0 {
		p.deadline = DefaultProgressDeadline
	}
	if p.deadline < 0 {
		fail("progressDeadlineSeconds", "%d is negative: give at least 1", int(p.deadline.Seconds()))
	}
	switch p.onFailure {
	case "":
		p.onFailure = Pause
	case Pause, Rollback:
	default:
		fail("onFailure", "%q is neither %s nor %s", p.onFailure, Pause, Rollback)
	}
	if err := checkAmount(s.MaxUnavailable); err != nil {
		fail("maxUnavailable", "%v", err)
	}
	var identity [][]byte
	for i, w := range s.Waves {
		field := fmt.Sprintf("waves[%d]", i)
		switch before := slices.IndexFunc(s.Waves[:i], func(o Wave) bool { return o.Name == w.Name }); {
		case w.Name == "":
			fail(field+".name", "a wave needs a name, because approvals and the status name it")
		case before >= 0:
			fail(field+".name", "%q is already the name of waves[%d]: choose another name, because approvals name a wave", w.Name, before)
		}
		if w.Name == Rest && w.Clusters != nil {
			fail(field+".clusters", "%q is the wave of the members that no other wave selects: leave clusters out, or choose another name", Rest)
		}
		if w.Soak < 0 {
			fail(field+".soakSeconds", "%d is negative", int(w.Soak.Seconds()))
		}
		if w.MaxFailures < 0 {
			fail(field+".maxFailures", "%d is negative", w.MaxFailures)
		}
		if err := checkAmount(w.MaxConcurrent); err != nil {
			fail(field+".maxConcurrent", "%v", err)
		}
		selects, err := selection.New(w.Clusters)
		if err != nil {
			fail(field+".clusters", "%v", err)
		}
		p.waves = append(p.waves, compiledWave{w, selects})
		clusters, err := json.Marshal(w.Clusters)
		if err != nil {
			fail(field+".clusters", "%v", err)
		}
		identity = append(identity, []byte(w.Name), clusters)
	}
	if s.addsRest() {
		every, _ := selection.New(nil) // nil has no selector that could be wrong
		p.waves = append(p.waves, compiledWave{Wave{Name: Rest}, every})
	}
	p.identity = strings.TrimPrefix(digest.Of(identity...), "sha256:")[:8]
	return p, errors.Join(errs...)
}

// checkAmount returns an error unless the amount a is nil, a positive number, or a percentage from 1% to 100%.
func checkAmount(a *intstr.IntOrString) error {
	if a == nil {
		return nil
	}
	if a.Type == intstr.Int {
		if a.IntVal < 1 {
			return fmt.Errorf("%d allows no update at all; give at least 1, or a percentage", a.IntVal)
		}
		return nil
	}
	percent, err := strconv.Atoi(strings.TrimSuffix(a.StrVal, "%"))
	if err != nil || !strings.HasSuffix(a.StrVal, "%") || percent < 1 || percent > 100 {
		return fmt.Errorf("%q is neither a number nor a percentage from 1%% to 100%%", a.StrVal)
	}
	return nil
}

// amountOf returns the number for which the amount a stands, at least 1. A percentage is a share of all, rounded up.
// For nil, which means no limit, the result is math.MaxInt32. Compile must have checked the amount.
func amountOf(a *intstr.IntOrString, all int) int {
	if a == nil {
		return math.MaxInt32
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(a, all, true)
	if err != nil {
		return 1
	}
	return max(1, n)
}

// MayRollBack reports whether members go back to the last good revision when the rollout fails.
func (p *Plan) MayRollBack() bool { return p.onFailure == Rollback }

// Waves returns the waves in order. If no wave of the spec selects all remaining members, the last one is Rest.
func (p *Plan) Waves() []Wave {
	waves := make([]Wave, 0, len(p.waves))
	for i := range p.waves {
		waves = append(waves, p.waves[i].Wave)
	}
	return waves
}

// WaveNames returns the names of the waves in order, also of the wave that Compile adds.
func (p *Plan) WaveNames() []string {
	names := make([]string, 0, len(p.waves))
	for i := range p.waves {
		names = append(names, p.waves[i].Name)
	}
	return names
}

// Concurrent returns how many members of the wave are updated at the same time, if the wave has this many members.
func (w *Wave) Concurrent(members int) int { return amountOf(w.MaxConcurrent, members) }

// Unavailable returns MaxUnavailable as a number, if this many members are placed. limited is false if the plan has no
// limit.
func (p *Plan) Unavailable(placed int) (count int, limited bool) {
	return amountOf(p.maxUnavailable, placed), p.maxUnavailable != nil
}

// EmptyWaves returns the names of the waves to which none of these members belongs. It leaves out Rest.
func (p *Plan) EmptyWaves(members []Member) []string {
	used := make([]bool, len(p.waves))
	for i := range members {
		used[p.waveOf(members[i].Member)] = true
	}
	var empty []string
	for i := range p.waves {
		if !used[i] && p.waves[i].Name != Rest {
			empty = append(empty, p.waves[i].Name)
		}
	}
	return empty
}

// WaveOf returns the wave to which a member belongs: its index in the order of the waves, and its name.
func (p *Plan) WaveOf(m selection.Member) (index int, name string) {
	index = p.waveOf(m)
	return index, p.waves[index].Name
}

// FirstWave returns the name of the first wave.
func (p *Plan) FirstWave() string { return p.waves[0].Name }

// waveOf returns the index of the first wave that selects a member. Each plan has a wave that selects every member.
func (p *Plan) waveOf(m selection.Member) int {
	return slices.IndexFunc(p.waves, func(w compiledWave) bool { return w.selects.Selects(m) })
}

// indexOf returns the index of the wave with this name; -1 if the plan has no such wave.
func (p *Plan) indexOf(name string) int {
	return slices.IndexFunc(p.waves, func(w compiledWave) bool { return w.Name == name })
}
