// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

var now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// books is an Account with one limit for all members together. A limit of 0 means that there is no limit.
type books struct {
	limit, total int
	of           map[string]int
}

func (b *books) Take(member string, bytes int) bool {
	if b.limit > 0 && b.total+bytes > b.limit {
		return false
	}
	b.Add(member, bytes)
	return true
}

func (b *books) Add(member string, bytes int) {
	b.total += bytes
	if b.of == nil {
		b.of = make(map[string]int)
	}
	if b.of[member] += bytes; b.of[member] == 0 {
		delete(b.of, member)
	}
}

func newSet(b *books) *Set {
	return NewSet(b, func(e *v1alpha1.Evidence) int {
		weight := 0
		for _, c := range e.Containers {
			weight += len(c.Log)
		}
		return weight
	})
}

var web = &v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, UID: "w"}

// show makes the Set record what a member shows.
func show(s *Set, member string, all []Shown, at time.Time) (changed bool, refused int) {
	keyed := slices.Clone(all)
	for i := range keyed {
		keyed[i].Key = keyOf(web, member, &keyed[i])
	}
	return s.Show(member, keyed, at)
}

// shown returns one object of this name in trouble, with a log.
func shown(name, reason, message, log string) Shown {
	return Shown{Object: v1alpha1.ReportedObject{Group: "apps", Kind: "Deployment", Name: name}, Reason: reason, Message: message,
		Evidence: v1alpha1.Evidence{Containers: []v1alpha1.ObservedContainer{{Pod: "p", Name: "app", State: "Waiting", Log: log}}}}
}

func crash(log string) []Shown {
	return []Shown{shown("web", "CrashLoopBackOff", "it crashes", log)}
}

// lines returns one line for each report.
func lines(s *Set) (all []string) {
	for _, r := range s.Reports() {
		all = append(all, fmt.Sprintf("%s %s on %s: %s of %s", r.Status.Object.Name, r.Status.Reason, strings.Join(r.Status.Clusters, ","),
			r.Status.Containers[0].Log, r.Status.Cluster))
	}
	return all
}

func TestWhatAMemberShows(t *testing.T) {
	object := func(name string, health v1alpha1.Health) v1alpha1.ObjectStatus {
		return v1alpha1.ObjectStatus{Group: "apps", Kind: "Deployment", Name: name, Health: health, Reason: "Crash\x1b", Message: "it\ncrashes"}
	}
	evidence := func(name string) v1alpha1.ObjectEvidence {
		return v1alpha1.ObjectEvidence{Group: "apps", Kind: "Deployment", Name: name, Evidence: crash("log")[0].Evidence}
	}
	for name, test := range map[string]struct {
		objects  []v1alpha1.ObjectStatus
		evidence []v1alpha1.ObjectEvidence
		want     []Shown
	}{
		"an object in trouble": {[]v1alpha1.ObjectStatus{object("web", v1alpha1.Degraded)}, []v1alpha1.ObjectEvidence{evidence("web")},
			[]Shown{shown("web", "Crash", "it crashes", "log")}},
		"one that is well":     {[]v1alpha1.ObjectStatus{object("web", v1alpha1.Healthy)}, []v1alpha1.ObjectEvidence{evidence("web")}, nil},
		"one without evidence": {[]v1alpha1.ObjectStatus{object("web", v1alpha1.Degraded)}, nil, nil},
		"evidence of an object that the Delivery does not list": {[]v1alpha1.ObjectStatus{object("web", v1alpha1.Degraded)},
			[]v1alpha1.ObjectEvidence{evidence("db")}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Of(web, "east", test.objects, test.evidence), cmpopts.IgnoreFields(Shown{}, "Key")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatSharesAReport(t *testing.T) {
	base := shown("web", "Crash", "pod web-5d8f7c9b64-x7k2p of east crashes 3 times", "log")
	change := func(f func(*Shown)) Shown {
		s := base
		f(&s)
		return s
	}
	for name, test := range map[string]struct {
		other  Shown
		shared bool
	}{
		"another log": {change(func(s *Shown) {
			s.Evidence = crash("another")[0].Evidence
			s.Message = strings.Replace(s.Message, "east", "west", 1)
		}), true},
		"another pod": {change(func(s *Shown) { s.Message = "pod web-7bcd6f9f4x-2lw4z of west crashes 7 times" }), true},
		"other words from the log": {change(func(s *Shown) {
			s.Message = "pod web-7bcd6f9f4x-2lw4z of west crashes 7 times; from its log: panic: order 7f3a; Available: 0/2"
		}), true},
		"a termination message": {change(func(s *Shown) {
			s.Message = "pod web-7bcd6f9f4x-2lw4z of west crashes 7 times; from its termination message: panic: order 7f3a"
		}), true},
		"another message":  {change(func(s *Shown) { s.Message = "there is no memory" }), false},
		"another reason":   {change(func(s *Shown) { s.Reason = "OOMKilled" }), false},
		"another object":   {change(func(s *Shown) { s.Object.Name = "db" }), false},
		"another kind":     {change(func(s *Shown) { s.Object.Kind = "StatefulSet" }), false},
		"another group":    {change(func(s *Shown) { s.Object.Group = "" }), false},
		"the text between": {change(func(s *Shown) { s.Object.Group, s.Object.Kind = "app", "sDeployment" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			east, west := keyOf(web, "east", &base), keyOf(web, "west", &test.other)
			if (east == west) != test.shared {
				t.Errorf("%s and %s", east, west)
			}
		})
	}
	if keyOf(web, "east", &base) == keyOf(&v1alpha1.WrapperIdentity{Kind: v1alpha1.KindFederated, UID: "x"}, "east", &base) {
		t.Error("wrappers share a key")
	}
}

func TestTheNameOfAReport(t *testing.T) {
	long := strings.Repeat("a", 241) + "-" + strings.Repeat("b", 11)
	for wrapper, want := range map[string]string{"web": "web.0123456789", "web.v2": "web.v2.0123456789", long: strings.Repeat("a", 241) + ".0123456789"} {
		if got := Name(wrapper, "0123456789"); got != want {
			t.Errorf("%s: %s", wrapper, got)
		}
		if key, ok := KeyIn(want, wrapper); !ok || key != "0123456789" {
			t.Errorf("in %s: %s, %v", want, key, ok)
		}
	}
	for _, name := range []string{"web", "web.012345678", "web.012345678g", "db.0123456789", "web.0123456789.x", "web-0123456789"} {
		if key, ok := KeyIn(name, "web"); ok {
			t.Errorf("%s has key %s", name, key)
		}
	}
}

func TestTheReportsOfAWrapper(t *testing.T) {
	var unscheduled []Shown
	for _, s := range []string{"PodNotReady", "Unschedulable", "ClassNotFound"} {
		unscheduled = append(unscheduled, shown("web", s, "m", "log"))
	}
	for name, test := range map[string]struct {
		play func(*Set)
		want []string
	}{
		"nothing":    {func(*Set) {}, nil},
		"one member": {func(s *Set) { show(s, "east", crash("a"), now) }, []string{"web CrashLoopBackOff on east: a of east"}},
		"two members with the same share one, with the sample of the first": {
			func(s *Set) { show(s, "west", crash("a"), now); show(s, "east", crash("b"), now) }, []string{"web CrashLoopBackOff on east,west: a of west"}},
		"newer evidence of the member of the sample": {
			func(s *Set) {
				show(s, "west", crash("a"), now)
				show(s, "east", crash("b"), now)
				show(s, "west", crash("c"), now)
			},
			[]string{"web CrashLoopBackOff on east,west: c of west"}},
		"the member of the sample is well": {
			func(s *Set) { show(s, "west", crash("a"), now); show(s, "east", crash("b"), now); s.Leave("west") },
			[]string{"web CrashLoopBackOff on east: a of west"}},
		"the next evidence becomes the sample": {
			func(s *Set) {
				show(s, "west", crash("a"), now)
				show(s, "east", crash("b"), now)
				s.Leave("west")
				show(s, "east", crash("c"), now)
			},
			[]string{"web CrashLoopBackOff on east: c of east"}},
		"the last member is well": {func(s *Set) { show(s, "west", crash("a"), now); show(s, "west", nil, now) }, nil},
		"most members first": {
			func(s *Set) {
				show(s, "a", []Shown{shown("rare", "R", "m", "log")}, now)
				show(s, "b", crash("b"), now)
				show(s, "c", crash("c"), now)
			}, []string{"web CrashLoopBackOff on b,c: b of b", "rare R on a: log of a"}},
		"then causes before consequences": {func(s *Set) { show(s, "a", unscheduled, now) },
			[]string{"web ClassNotFound on a: log of a", "web Unschedulable on a: log of a", "web PodNotReady on a: log of a"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := &books{}
			s := newSet(b)
			test.play(s)
			if diff := cmp.Diff(test.want, lines(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if s.Close(); b.total != 0 || len(b.of) > 0 {
				t.Errorf("after Close, %d bytes are counted: %v", b.total, b.of)
			}
		})
	}
}

func TestUnchangedEvidenceChangesNothing(t *testing.T) {
	s := newSet(&books{})
	for i, test := range []struct {
		member  string
		shown   []Shown
		changed bool
	}{{"east", nil, false}, {"east", crash("a"), true}, {"east", crash("a"), false}, {"west", crash("b"), true}, {"west", crash("c"), false}, {"east", crash("d"), true}, {"west", nil, true}} {
		if changed, _ := show(s, test.member, test.shown, now.Add(time.Duration(i)*time.Minute)); changed != test.changed {
			t.Errorf("step %d: changed is %v", i, changed)
		}
	}
	if got := s.Reports()[0].Status.ObservedTime.Time; !got.Equal(now.Add(5 * time.Minute)) {
		t.Errorf("observed %s", got)
	}
}

func TestAReportOfAnEarlierProcess(t *testing.T) {
	before := newSet(&books{})
	for _, name := range []string{"east", "north", "west"} {
		show(before, name, crash(name), now)
	}
	report := before.Reports()[0]
	for name, test := range map[string]struct {
		read []string
		play func(*Set)
		want []string
	}{
		"no member is read":    {nil, func(*Set) {}, []string{"web CrashLoopBackOff on east,north,west: east of east"}},
		"one is read and well": {[]string{"north"}, func(*Set) {}, []string{"web CrashLoopBackOff on east,west: east of east"}},
		"one is read later":    {nil, func(s *Set) { s.Leave("north") }, []string{"web CrashLoopBackOff on east,west: east of east"}},
		"one is read and shows the same": {[]string{"north"}, func(s *Set) { show(s, "north", crash("new"), now) },
			[]string{"web CrashLoopBackOff on east,north,west: east of east"}},
		"all are read and well": {[]string{"east", "north", "west"}, func(*Set) {}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := &books{}
			s := newSet(b)
			s.Restore(report.Key, &report.Status, func(member string) bool { return !strings.Contains(strings.Join(test.read, " "), member) })
			test.play(s)
			if diff := cmp.Diff(test.want, lines(s)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if s.Close(); b.total != 0 {
				t.Errorf("after Close, %d bytes are counted", b.total)
			}
		})
	}
}

func TestTheBoundsOfAWrapper(t *testing.T) {
	b := &books{}
	s := newSet(b)
	distinct := func(i int) Shown { return shown("web", "Crash", "word"+letters(i), strings.Repeat("x", 10_000)) }
	for i := range 1000 {
		show(s, fmt.Sprintf("m%03d", i), []Shown{distinct(i)}, now)
	}
	if got := len(s.Reports()); got != maxReports {
		t.Errorf("%d reports", got)
	}
	if b.total > 1000*memberWeight+maxSamples*(10_000+2*sampleWeight) {
		t.Errorf("%d bytes", b.total)
	}
	for i := range 150 {
		show(s, fmt.Sprintf("m%03d", i), append(crash("x"), distinct(i)), now)
	}
	first := s.Reports()[0].Status
	if first.Reason != "CrashLoopBackOff" || len(first.Clusters) != maxClusters || first.ClusterCount != 150 || first.Clusters[99] != "m099" {
		t.Errorf("%s on %d of %d members, the last is %s", first.Reason, len(first.Clusters), first.ClusterCount, first.Clusters[99])
	}
}

func TestBeyondTheBytesExistingReportsStay(t *testing.T) {
	b := &books{limit: 2*memberWeight + sampleWeight + 1000}
	s := newSet(b)
	show(s, "east", crash(strings.Repeat("x", 900)), now)
	if _, refused := show(s, "west", []Shown{shown("db", "R", "m", strings.Repeat("x", 900))}, now); refused != 1 {
		t.Errorf("%d refused", refused)
	}
	if _, refused := show(s, "east", crash(strings.Repeat("y", 2000)), now); refused != 1 {
		t.Errorf("%d refused", refused)
	}
	if got := lines(s); len(got) != 1 || !strings.HasPrefix(got[0], "web CrashLoopBackOff on east: xxx") || b.total > b.limit {
		t.Errorf("%d of %d bytes: %.100s", b.total, b.limit, got)
	}
}

// letters returns a word for a number, because Normalize replaces numbers.
func letters(n int) string {
	return strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprintf("%05d", n))
}

func TestTheOrderOfArrivalDoesNotMatter(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		members, reasons := 1+random.IntN(30), 1+random.IntN(40)
		state := make([][]Shown, members)
		for m := range state {
			for range random.IntN(5) {
				state[m] = append(state[m], shown(letters(random.IntN(3)), "R"+letters(random.IntN(reasons)), "m", "log"))
			}
		}
		play := func() []string {
			b := &books{}
			s := newSet(b)
			for _, m := range random.Perm(members) {
				for range 1 + random.IntN(2) {
					show(s, fmt.Sprintf("m%02d", m), state[m], now)
				}
			}
			var got []string
			for _, r := range s.Reports() {
				got = append(got, fmt.Sprint(Name("web", r.Key), r.Status.Object, r.Status.Reason, r.Status.Clusters, r.Status.ClusterCount))
			}
			if len(got) > maxReports || len(s.samples.byKey) > maxSamples {
				t.Fatalf("seed %d: %d reports, %d samples", seed, len(got), len(s.samples.byKey))
			}
			for _, m := range random.Perm(members) {
				s.Leave(fmt.Sprintf("m%02d", m))
			}
			if b.total != 0 || len(s.groups.byKey)+len(s.samples.byKey)+len(s.groups.shown) != 0 {
				t.Fatalf("seed %d: %d bytes are left", seed, b.total)
			}
			return got
		}
		if diff := cmp.Diff(play(), play()); diff != "" {
			t.Fatalf("seed %d: the order matters:\n%s", seed, diff)
		}
	}
}
