// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"bytes"
	"errors"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestStepsInAPipeAreLines(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	first := p.Step("building %s", "etcd")
	second := p.Step("starting")
	first.Donef("built %s", "etcd")
	second.Fail(errors.New("no luck"))
	p.Step("looking").Skip()
	p.Note("over")
	want := "• building etcd\n• starting\n✓ built etcd (T)\n✗ starting: no luck\n• looking\n• over\n"
	if diff := cmp.Diff(want, regexp.MustCompile(`\([0-9.]+ s\)`).ReplaceAllString(out.String(), "(T)")); diff != "" {
		t.Error(diff)
	}
}

func TestLongStepIsAliveOnceAMinute(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	s := p.Step("building etcd")
	s.Update("linking")
	p.mu.Lock()
	for _, after := range []time.Duration{time.Second, 59 * time.Second, 60 * time.Second, 61 * time.Second, 2 * time.Minute} {
		p.draw(s.began.Add(after))
	}
	p.mu.Unlock()
	s.Skip()
	want := "• building etcd\n• still building etcd: linking, 60 s\n• still building etcd: linking, 2 min 0 s\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
}

func TestTheLiveLineIsErasedBeforeOtherOutput(t *testing.T) {
	var out bytes.Buffer
	p := New(&out)
	p.width = 20
	s := p.Step("a step with a name that is too long")
	p.mu.Lock()
	p.draw(s.began)
	p.draw(s.began.Add(2 * time.Second))
	p.mu.Unlock()
	s.Donef("done")
	got := regexp.MustCompile(`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]`).ReplaceAllString(out.String(), "*")
	want := "* a step with a na…\r\x1b[K* a step with a na…\r\x1b[K✓ done (0.0 s)\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDurationsAreWrittenForPeople(t *testing.T) {
	tests := map[time.Duration]string{
		300 * time.Millisecond: "0.3 s", 8400 * time.Millisecond: "8 s", 119 * time.Second: "119 s", 125 * time.Second: "2 min 5 s",
	}
	for d, want := range tests {
		if diff := cmp.Diff(want, Seconds(d)); diff != "" {
			t.Error(diff)
		}
	}
}
