// SPDX-License-Identifier: Apache-2.0

package upgrade_test

import (
	"testing"

	"github.com/fairlead-dev/fairlead/federate/upgrade"
)

func TestOrder(t *testing.T) {
	for name, tt := range map[string]struct {
		a, b    string
		want    int
		unknown bool
	}{
		"a later minor version is later":             {a: "postgres.v1.1.0", b: "postgres.v1.0.0", want: 1},
		"numbers are compared as numbers":            {a: "postgres.v1.9.0", b: "postgres.v1.10.0", want: -1},
		"a name equals itself":                       {a: "postgres.v1.0.0", b: "postgres.v1.0.0", want: 0},
		"the v may be missing":                       {a: "postgres.1.0.0", b: "postgres.v1.0.0", want: 0},
		"a package may contain dots and dashes":      {a: "io.acme-db.op.v2.0.0", b: "io.acme-db.op.v1.9.9", want: 1},
		"a package may contain a number":             {a: "argo.2.v1.0.0", b: "argo.2.v1.0.1", want: -1},
		"a package may look like a version":          {a: "op.v1.v1.0.0", b: "op.v1.v2.0.0", want: -1},
		"a prerelease is earlier than its release":   {a: "postgres.v1.0.0-rc.1", b: "postgres.v1.0.0", want: -1},
		"prereleases are compared":                   {a: "postgres.v1.0.0-rc.10", b: "postgres.v1.0.0-rc.9", want: 1},
		"a prerelease may contain a version":         {a: "postgres.v1.0.0-rc.v2.0.0", b: "postgres.v1.0.1", want: -1},
		"build metadata does not count":              {a: "postgres.v1.0.0+2", b: "postgres.v1.0.0+1", want: 0},
		"two rebuilds of one version":                {a: "logging.v5.8.1-0.166.p", b: "logging.v5.8.1-0.167.p", want: -1},
		"a rebuild and a later version":              {a: "logging.v5.8.1-0.166.p", b: "logging.v5.8.2", want: -1},
		"a rebuild is not earlier than its original": {a: "logging.v5.8.1-0.166.p", b: "logging.v5.8.1", unknown: true},
		"the original is not later than its rebuild": {a: "logging.v5.8.1", b: "logging.v5.8.1-0.166.p", unknown: true},
		"the packages differ":                        {a: "postgres.v1.0.0", b: "mysql.v1.0.0", unknown: true},
		"one package begins with the other":          {a: "postgres.v1.0.0", b: "postgres-ha.v1.0.0", unknown: true},
		"the first has no version":                   {a: "postgres", b: "postgres.v1.0.0", unknown: true},
		"the second has no version":                  {a: "postgres.v1.0.0", b: "postgres.latest", unknown: true},
		"a version of two numbers is not complete":   {a: "postgres.v1.0", b: "postgres.v1.1", unknown: true},
		"a version of four numbers has two packages": {a: "postgres.1.0.0.1", b: "postgres.2.0.0.1", unknown: true},
		"a version alone has no package":             {a: "v1.0.0", b: "v1.1.0", unknown: true},
		"an empty name":                              {a: "", b: "postgres.v1.0.0", unknown: true},
		"dots alone":                                 {a: "...", b: "...", unknown: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := upgrade.Order(tt.a, tt.b)
			if got != tt.want || ok == tt.unknown {
				t.Errorf("Order(%q, %q) = %d, %t; want %d, %t", tt.a, tt.b, got, ok, tt.want, !tt.unknown)
			}
		})
	}
}

func FuzzOrder(f *testing.F) {
	f.Add("postgres.v1.0.0", "postgres.v1.1.0", "postgres.v1.2.0")
	f.Add("a.b.v1.0.0-rc.1", "a.b.1.0.0", "a.b.v1.0.0-0.1")
	f.Add("v1.0.0", "..", "op.1.2.3.4+b")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		ab, ok := upgrade.Order(a, b)
		if ba, known := upgrade.Order(b, a); ba != -ab || known != ok {
			t.Fatalf("%q and %q are %d, %t; the other way round %d, %t", a, b, ab, ok, ba, known)
		}
		if !ok {
			return
		}
		if same, known := upgrade.Order(a, a); same != 0 || !known {
			t.Fatalf("Order of %q with itself is %d, %t", a, same, known)
		}
		bc, known := upgrade.Order(b, c)
		ac, both := upgrade.Order(a, c)
		if known && both && ab <= 0 && bc <= 0 && ac > 0 {
			t.Fatalf("%q ≤ %q ≤ %q, but the first is later than the last", a, b, c)
		}
	})
}
