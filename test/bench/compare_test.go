// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRatio(t *testing.T) {
	for name, tt := range map[string]struct {
		ours, theirs float64
		want         string
	}{
		"Fairlead costs less":         {ours: 8, theirs: 16, want: "0.50"},
		"Fairlead costs more":         {ours: 21.8, theirs: 16, want: "1.36"},
		"Fairlead costs nothing":      {ours: 0, theirs: 16, want: "0.00"},
		"the peer's figure is zero":   {ours: 8, theirs: 0, want: "–"},
		"neither of them costs a bit": {ours: 0, theirs: 0, want: "–"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ratio(tt.ours, tt.theirs); got != tt.want {
				t.Errorf("ratio(%v, %v) = %q, want %q", tt.ours, tt.theirs, got, tt.want)
			}
		})
	}
}

// ours and theirs differ in every figure that the comparison shows, so a test sees when the comparison takes the wrong one.
func ours() *reading {
	return &reading{
		HostCPUSeconds: 6, MemberCPUSeconds: 2, APIServerCPUSeconds: 30, HostRequests: 300,
		MemberRequests: map[string]int{"member-1": 400, "member-2": 500}, RSSPeakBytes: 50 << 20, Seconds: 20,
	}
}

func theirs() *reading {
	return &reading{
		HostCPUSeconds: 16, APIServerCPUSeconds: 60, HostRequests: 1200,
		MemberRequests: map[string]int{"member-1": 250, "member-2": 240}, RSSPeakBytes: 100 << 20, Seconds: 10,
	}
}

func TestComparison(t *testing.T) {
	var out bytes.Buffer
	err := besides{
		ours:   map[string]*reading{"W1": ours(), "W2": {}, "W4": ours()},
		theirs: map[string]*reading{"W1": theirs()},
		peer:   "KubeFed v0.10.0", objects: wholeObjects, lacking: []string{"W2"},
	}.print(&out)
	if err != nil {
		t.Fatal(err)
	}
	var lines [][]string
	for line := range strings.Lines(out.String()) {
		var cells []string
		for cell := range strings.SplitSeq(strings.TrimSpace(line), "  ") {
			if cell = strings.TrimSpace(cell); cell != "" {
				cells = append(cells, cell)
			}
		}
		lines = append(lines, cells)
	}
	want := [][]string{
		{"WORK", "WHAT", "KUBEFED V0.10.0", "FAIRLEAD", "RATIO"},
		{"W1", "deliver objects to 3 members: CPU of the federation, including collectors", "16 s", "8 s", "0.50"},
		{"W1", "until the last object is there", "10 s", "20 s", "2.00"},
		{"W1", "CPU of all API servers and etcds", "60 s", "30 s", "0.50"},
		{"W1", "requests to the host", "1200", "300", "0.25"},
		{"W1", "requests to each member", "250", "500", "2.00"},
		{"W1", "peak RSS of the federation, including collectors", "100 MiB", "50 MiB", "0.50"},
		{"W2", "no counterpart in KubeFed v0.10.0", "–", "–"},
		nil,
		{"The ratio is Fairlead's figure divided by that of KubeFed v0.10.0. Both columns are of this run, on this machine, one after the other."},
		{"Do not compare them with figures of another machine or day."},
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
}

func TestATrialIsMarkedAsATrial(t *testing.T) {
	for name, tt := range map[string]struct {
		objects int
		trial   bool
	}{
		"a whole run":          {objects: 1000},
		"a run of few objects": {objects: 30, trial: true},
	} {
		t.Run(name, func(t *testing.T) {
			readings := map[string]*reading{"W1": ours()}
			for what, show := range map[string]func(*bytes.Buffer) error{
				"the table of goals": func(out *bytes.Buffer) error { return table(out, readings, tt.objects) },
				"the comparison": func(out *bytes.Buffer) error {
					return besides{ours: readings, theirs: readings, peer: "a peer", objects: tt.objects}.print(out)
				},
			} {
				var out bytes.Buffer
				if err := show(&out); err != nil {
					t.Fatal(err)
				}
				if got := strings.Contains(out.String(), "This is a trial with 30 objects"); got != tt.trial {
					t.Errorf("%s says that it is a trial: %t, want %t:\n%s", what, got, tt.trial, out.String())
				}
				if !strings.Contains(out.String(), "another machine or day") {
					t.Errorf("%s does not warn of figures of other machines:\n%s", what, out.String())
				}
			}
			if got := figures(tt.objects, readings, nil)["comparable"]; got == tt.trial {
				t.Errorf("the file of OUT has comparable: %v", got)
			}
		})
	}
}

func TestOutHoldsThePeersFiguresInTheSameFields(t *testing.T) {
	data, err := json.Marshal(figures(wholeObjects, map[string]*reading{"W1": ours()}, map[string]*reading{"W1": theirs()}))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		W1   map[string]any
		Peer map[string]map[string]any `json:"peer"`
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	read := func(of map[string]any) map[string]any {
		found := make(map[string]any)
		for _, field := range []string{"hostCPUSeconds", "hostRequests", "memberRequests", "rssPeakBytes", "seconds", "apiServerCPUSeconds"} {
			found[field] = of[field]
		}
		return found
	}
	want := map[string]any{
		"hostCPUSeconds": 16.0, "hostRequests": 1200.0, "memberRequests": map[string]any{"member-1": 250.0, "member-2": 240.0},
		"rssPeakBytes": float64(100 << 20), "seconds": 10.0, "apiServerCPUSeconds": 60.0,
	}
	if diff := cmp.Diff(want, read(got.Peer["W1"])); diff != "" {
		t.Errorf("peer: %s", diff)
	}
	want = map[string]any{
		"hostCPUSeconds": 6.0, "hostRequests": 300.0, "memberRequests": map[string]any{"member-1": 400.0, "member-2": 500.0},
		"rssPeakBytes": float64(50 << 20), "seconds": 20.0, "apiServerCPUSeconds": 30.0,
	}
	if diff := cmp.Diff(want, read(got.W1)); diff != "" {
		t.Errorf("Fairlead: %s", diff)
	}
	if _, ok := figures(wholeObjects, nil, nil)["peer"]; ok {
		t.Error("OUT has a peer that was not measured")
	}
}

func TestOptionsOfAPeer(t *testing.T) {
	for name, tt := range map[string]struct {
		o    options
		want string
	}{
		"no peer":                        {},
		"KubeFed, all works":             {o: options{peer: "kubefed"}},
		"KubeFed, a work that it can do": {o: options{peer: "kubefed", works: []string{"W6", "W3"}}},
		"an unknown peer":                {o: options{peer: "foo"}, want: `PEER: there is no peer "foo"; the peers are: kubefed`},
		"no work that the peer can do":   {o: options{peer: "kubefed", works: []string{"W6", "idle"}}, want: "WORKS: none of W6, idle has a counterpart in kubefed, which can do W1, W3, W4, W5"},
		"a sandbox that would stay up":   {o: options{peer: "kubefed", keep: true}, want: "-keep cannot be used with PEER: the peer is measured on a sandbox of its own, while Fairlead's is down"},
		"a sandbox kept without a peer":  {o: options{keep: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := tt.o.checkPeer(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWorksWithoutACounterpart(t *testing.T) {
	readings := map[string]*reading{"idle": {}, "far": {}, "W2": {}, "W1": {}, "W5": {}}
	if diff := cmp.Diff([]string{"W2", "far", "idle"}, lackingIn(readings)); diff != "" {
		t.Error(diff)
	}
}
