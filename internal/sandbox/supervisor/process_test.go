// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestProcessStateIsReadWhateverTheProgramIsCalled(t *testing.T) {
	fields := "S 1 1 1 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 4711 1000 100"
	tests := map[string]struct {
		stat  string
		state byte
		start uint64
		fails bool
	}{
		"a plain name":                   {stat: "12 (etcd) " + fields, state: 'S', start: 4711},
		"a name with spaces":             {stat: "12 (my server) " + fields, state: 'S', start: 4711},
		"a name that looks like its end": {stat: "12 (a) Z 9 (b) " + fields, state: 'S', start: 4711},
		"a zombie process":               {stat: "12 (etcd) Z" + fields[1:], state: 'Z', start: 4711},
		"a line that is cut off":         {stat: "12 (etcd) S 1 1", fails: true},
		"no line at all":                 {fails: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			state, start, err := parseStat(tt.stat)
			if (err != nil) != tt.fails {
				t.Fatalf("error %v, wanted one: %t", err, tt.fails)
			}
			if diff := cmp.Diff([]any{tt.state, tt.start}, []any{state, start}); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestProcessesAreSortedByWhatTheyNeed(t *testing.T) {
	tests := map[string]struct {
		list []Process
		want [][]string
	}{
		"a chain and a branch": {
			list: []Process{
				{Name: "scheduler", After: []string{"api"}}, {Name: "api", After: []string{"etcd"}},
				{Name: "etcd"}, {Name: "kwok", After: []string{"api"}},
			},
			want: [][]string{{"etcd"}, {"api"}, {"scheduler", "kwok"}},
		},
		"all alone":                   {list: []Process{{Name: "a"}, {Name: "b"}}, want: [][]string{{"a", "b"}}},
		"an unknown process in After": {list: []Process{{Name: "a", After: []string{"gone"}}}, want: [][]string{{"a"}}},
		"a circle of After is sorted too": {
			list: []Process{{Name: "a", After: []string{"b"}}, {Name: "b", After: []string{"a"}}},
			want: [][]string{{"a", "b"}},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got [][]string
			for _, layer := range layers(tt.list) {
				var names []string
				for _, p := range layer {
					names = append(names, p.Name)
				}
				got = append(got, names)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEnvironmentOfAProcess(t *testing.T) {
	p := Process{Env: []string{"GOGC=30", "HOME=/c"}, Unset: []string{"CI", "HTTPS_PROXY"}}
	got := p.environ([]string{"HOME=/home/u", "CI=true", "CIRCLE=1", "HTTPS_PROXY=http://p"})
	if diff := cmp.Diff([]string{"HOME=/home/u", "CIRCLE=1", "GOGC=30", "HOME=/c"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestProcessThatCouldNotRunIsRefused(t *testing.T) {
	tests := map[string]Process{
		"no name":             {Cluster: "host", Path: "/bin/true"},
		"no cluster":          {Name: "x", Path: "/bin/true"},
		"a name with a slash": {Cluster: "host", Name: "../x", Path: "/bin/true"},
		"a relative path":     {Cluster: "host", Name: "x", Path: "true"},
	}
	for name, p := range tests {
		t.Run(name, func(t *testing.T) {
			if p.check() == nil {
				t.Error("accepted")
			}
		})
	}
	if err := (Process{Cluster: "host", Name: "x", Path: "/bin/true"}).check(); err != nil {
		t.Error(err)
	}
}

func TestLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.log")
	if err := boundLog(path, 10); err != nil {
		t.Errorf("rotating a log that does not exist returned %v", err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("a", 15)+"tail"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := boundLog(path, 10); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"", "aaaaaatail"}, []string{read(t, path), read(t, path+".1")}); diff != "" {
		t.Error(diff)
	}
}
