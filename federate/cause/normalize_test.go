// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMessagesThatDifferOnlyInWhatAClusterChoosesAreTheSame(t *testing.T) {
	long := func(pod string) string {
		text := "Deployment web: container app of pod " + pod + " ended: " + strings.Repeat("the program told a long story ", 10)
		return text[:250] + "…"
	}
	for name, test := range map[string]struct{ east, west string }{
		"pods of a Deployment":                   {"pod web-5d8f7c9b64-x7k2p crashes", "pod web-7bcd6f9f4x-2lw4z crashes"},
		"pods of a DaemonSet":                    {"pod agent-x7k2p crashes", "pod agent-2lw4z crashes"},
		"a pod whose hash has only digits":       {"pod web-5d8f7c9b64-x7k2p crashes", "pod web-5d8f7c9b64-24675 crashes"},
		"of a DaemonSet, too":                    {"pod agent-x7k2p: crashes", "pod agent-24675: crashes"},
		"pods of a StatefulSet":                  {"Pod db-0: crashes", "Pod db-12: crashes"},
		"pods of a CronJob":                      {"pod clean-29012345-x7k2p failed", "pod clean-29012346-2lw4z failed"},
		"ReplicaSets":                            {`ReplicaSet "web-5d8f7c9b64" exceeded quota`, `ReplicaSet "web-7bcd6f9f4x" exceeded quota`},
		"uids":                                   {"uid 0b7f4e6c-3a1d-4c58-9a1e-5f0d2c7b8a90", "uid 1B7F4E6C-3a1d-4c58-9a1e-5f0d2c7b8a91"},
		"addresses":                              {"dial tcp 10.0.0.1:5432: refused by [fd00::1]:80", "dial tcp 10.20.0.1:5433: refused by [fd00::abcd]:8080"},
		"counts and fractions":                   {"0/3 nodes are available: 3 Insufficient cpu, restarted 17 times.", "0/5 nodes are available: 5 Insufficient cpu, restarted 2 times."},
		"durations and sizes":                    {"waited 5m20s for 12Mi (30%)", "waited 1.5h for 512Ki (99%)"},
		"names of nodes":                         {"no space on node ip-10-0-0-1.example.com", "no space on node worker-east"},
		"resource versions":                      {`resourceVersion "12345678"`, `resourceVersion "9"`},
		"the member's own name":                  {"no route to api.east.example.com, the server of east-prod", "no route to api.west.example.com, the server of west-prod"},
		"times of a log line":                    {`its last log line: "2026-01-02T03:04:05.123Z no database"`, `its last log line: "2026-03-02T13:04:05+01:00 no database"`},
		"times of Go's log":                      {`its last log line: "2026/01/02 03:04:05 no database"`, `its last log line: "2026/11/12 13:14:15.123 no database"`},
		"times of Kubernetes' log":               {`"E0102 03:04:05.123456 1 main.go:12] no database"`, `"E1112 13:04:05.654321 7 main.go:12] no database"`},
		"addresses in memory":                    {"panic at 0xc00012e008, main.run(0xC0000140a0, 0x2b)", "panic at 0xc000294010, main.run(0xc00009e120, 0x2b)"},
		"spaces":                                 {"too  many\tspaces", " too many spaces"},
		"messages that were cut at other places": {long("web-5d8f7c9b64-x7k2p"), long("web-5d8f7c9b-x7k2p")},
	} {
		t.Run(name, func(t *testing.T) {
			if east, west := Normalize("east", test.east), Normalize("west", test.west); east != west {
				t.Errorf("%q and %q differ", east, west)
			}
		})
	}
}

func TestMessagesWithAnotherCauseDiffer(t *testing.T) {
	for name, test := range map[string]struct{ one, other string }{
		"versions of images":      {`image "shop/web:1.2.4" cannot be pulled`, `image "shop/web:1.2.5" cannot be pulled`},
		"versions":                {"version 1.2.4 is not there", "version 1.2.5 is not there"},
		"hexadecimal exit codes":  {"ended with code 0xC0000005", "ended with code 0xC0000135"},
		"short codes":             {"SIGSEGV: code=0x1", "SIGSEGV: code=0x2"},
		"exit codes":              {"ended with exit code 1", "ended with exit code 137"},
		"objects":                 {"Deployment web: no", "Deployment api: no"},
		"containers":              {"container app of pod web-x7k2p", "container proxy of pod web-x7k2p"},
		"a name inside of a word": {"the feast is over", "the fwest is over"},
	} {
		t.Run(name, func(t *testing.T) {
			if Normalize("east", test.one) == Normalize("west", test.other) {
				t.Errorf("both become %q", Normalize("east", test.one))
			}
		})
	}
}

func FuzzNormalize(f *testing.F) {
	for _, message := range []string{"", "pod web-5d8f7c9b64-x7k2p on node node a 1 2 3", "exit code 137: 10.0.0.1:80 [::1]:2", "2026-01-02T03:04:05Z E0102 1.5h …", "east-east east",
		strings.Repeat("1 ", 700), strings.Repeat("a…b … ", 60) + "…", "\xff…\xfe 12%", "#-#", "-24567-24567-24567-24567", "code code 5 # 6", "code 0xc0000005 at 0xc00012e008,0x00001"} {
		f.Add("east", message)
	}
	f.Add("", "a")
	f.Add("#", "a # b")
	f.Add("1", "1 11 1-1")
	f.Fuzz(func(t *testing.T, member, message string) {
		once := Normalize(member, message)
		if len(once) > maxRead || len(once) > len(message) {
			t.Errorf("%d bytes became %d", len(message), len(once))
		}
		if !utf8.ValidString(once) {
			t.Errorf("not valid UTF-8: %q", once)
		}
		if twice := Normalize(member, once); twice != once {
			t.Errorf("%q becomes %q, and that becomes %q", message, once, twice)
		}
	})
}
