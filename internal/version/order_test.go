// SPDX-License-Identifier: Apache-2.0

package version

import "testing"

func TestCompare(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b string
		want int
	}{
		"releases by their numbers, not their letters":    {"v1.10.0", "v1.9.3", 1},
		"a candidate comes before its release":            {"v1.2.0-rc.1", "v1.2.0", -1},
		"what follows a plus sign has no order":           {"v1.2.0+a", "v1.2.0+b", 0},
		"builds by the time of their commits":             {"v0.0.0-dev.20261122140000+aaaaaaaaaaaa", "v0.0.0-dev.20261122150000+000000000000", -1},
		"a changed tree is its commit":                    {"v0.0.0-dev.20261122140000+a.dirty", "v0.0.0-dev.20261122140000+a", 0},
		"the tag of an image is its version":              {"v0.0.0-dev.20261122140000-0123456789ab", "v0.0.0-dev.20261122140000+0123456789ab", 0},
		"go install of a commit is a build of the commit": {"v0.0.0-20261122140000-0123456789ab", "v0.0.0-dev.20261122140000+0123456789ab", 0},
		"go install of an older commit":                   {"v0.0.0-20251122140000-0123456789ab", "v0.0.0-dev.20261122140000+0123456789ab", -1},
		"every release is newer than a build":             {"v0.1.0", "v0.0.0-dev.20301122140000+a", 1},
		"go install of a commit after a release is newer": {"v0.1.1-0.20261122140000-0123456789ab", "v0.1.0", 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := Compare(tc.a, tc.b); err != nil || got != tc.want {
				t.Errorf("got %d %v, want %d", got, err, tc.want)
			}
			if got, err := Compare(tc.b, tc.a); err != nil || got != -tc.want {
				t.Errorf("the other way: got %d %v, want %d", got, err, -tc.want)
			}
		})
	}
	for _, v := range []string{"", "test", "latest", "1.2.0", "v0.0.0-dev", "v0.0.0-dev+0123456789ab", "v0.0.0-dev-0123456789ab", "v1.2.x"} {
		if got, err := Compare(v, "v1.0.0"); err == nil {
			t.Errorf("%q has an order: %d", v, got)
		}
		if got, err := Compare("v1.0.0", v); err == nil {
			t.Errorf("%q has an order: %d", v, got)
		}
	}
}

func TestMinorsApart(t *testing.T) {
	for name, tc := range map[string]struct {
		a, b string
		want int
		ok   bool
	}{
		"the same minor":             {"v1.2.3", "v1.2.9", 0, true},
		"older by two":               {"v1.2.3", "v1.4.0", 2, true},
		"newer by two":               {"v1.12.3", "v1.10.0", 2, true},
		"another major version":      {"v2.0.0", "v1.9.0", 1 << 16, true},
		"a build that is no release": {"v1.0.0", "v0.0.0-dev.20261122140000+a", 0, false},
		"no version":                 {"v1.0.0", "test", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := MinorsApart(tc.a, tc.b); got != tc.want || ok != tc.ok {
				t.Errorf("got %d %t", got, ok)
			}
		})
	}
}
