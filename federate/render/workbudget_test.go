// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

const perMember = "overrides: [{target: {kind: ConfigMap}, patch: [{op: add, path: /data/member, valueFrom: {fieldPath: metadata.name}}]}]"

// served renders for all members in one round. It returns the names of the members that the work limit did not refuse.
func served(t *testing.T, r *Renderer, members []selection.Member) (names []string) {
	t.Helper()
	round := r.NewRound()
	for _, m := range members {
		_, err := round.For(m)
		switch {
		case err == nil:
			names = append(names, m.Name)
		case !errors.Is(err, overrides.ErrTooCostly) || !strings.Contains(err.Error(), "for member "+m.Name):
			t.Errorf("for %s: %v", m.Name, err)
		}
	}
	return names
}

func TestTheDistinctRenderingsOfAWrapperAreBoundedTogether(t *testing.T) {
	r := renderer(t, spec(t, shop+perMember), "shop")
	members := fleet(10)
	one := r.variant(r.key(members[0]), members[0]).work
	r.maxWork = 3*one - 1
	want := []string{"member-0000", "member-0001", "member-0002"}
	if diff := cmp.Diff(want, served(t, r, members)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// An earlier round must not change which members a later round refuses.
	served(t, r, members[5:])
	if diff := cmp.Diff(want, served(t, r, members)); diff != "" {
		t.Errorf("the second time (-want +got):\n%s", diff)
	}
	equal := renderer(t, spec(t, perCloud), "shop")
	equal.maxWork = 2 // room for one rendering, which members 0, 3, 6 and 9 share
	if diff := cmp.Diff([]string{"member-0000", "member-0003", "member-0006", "member-0009"}, served(t, equal, members)); diff != "" {
		t.Errorf("members that share a rendering (-want +got):\n%s", diff)
	}
}

// The objects differ on each of thousands of members. The work limit must still allow all these renderings.
func TestThousandsOfMembersWithDifferentObjectsFit(t *testing.T) {
	large := many(64)
	for i := range large.Objects {
		large.Objects[i] = runtime.RawExtension{Raw: fmt.Appendf(nil,
			`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c%02d"},"data":{"k":%q}}`, i, strings.Repeat("x", 16_000))}
	}
	small := many(64)
	for name, tc := range map[string]struct {
		of      *Renderer
		members int64
	}{
		"64 objects of 1 KiB that all differ":              {renderer(t, small, "shop"), 20_000},
		"a full wrapper, 1 MiB, of which all differs":      {renderer(t, large, "shop"), 2_000},
		"a full wrapper, of which one object differs":      {renderer(t, large, "shop"), 20_000},
		"a full wrapper that differs, and 64 overrides":    {renderer(t, large, "shop"), 1_000},
		"64 overrides of each of 64 objects, which differ": {renderer(t, small, "shop"), 2_000},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(t, perMember)
			if strings.Contains(name, "one object") {
				s.Overrides[0].Target.Name = "c07"
			}
			for strings.Contains(name, "64 overrides") && len(s.Overrides) < 64 {
				s.Overrides = append(s.Overrides, s.Overrides[0])
			}
			var err error
			if tc.of.set, err = overrides.Compile(s.Overrides); err != nil {
				t.Fatal(err)
			}
			m := fleet(1)[0]
			v := tc.of.variant(tc.of.key(m), m)
			if v.err != nil || v.work*tc.members > maxWork {
				t.Errorf("one takes %d units, all of them %d %% of what they may (%v)", v.work, 100*v.work*tc.members/maxWork, v.err)
			}
		})
	}
}

func TestDoneForgetsVariantsOfMembersThatLeft(t *testing.T) {
	r, err := New(large(t, 10), "shop")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"east", "west"} {
		round := r.NewRound()
		if _, err := round.Variant(selection.Member{Name: name}); err != nil {
			t.Fatal(err)
		}
		round.Done()
		if got := r.Distinct(); got != 1 {
			t.Errorf("%d variants after the round of %s", got, name)
		}
	}
}
