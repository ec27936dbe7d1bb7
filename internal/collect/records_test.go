// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestLedger(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "settings"}
	at := func(uid, version string) record { return record{uid: types.UID(uid), resourceVersion: version} }

	tests := map[string]struct {
		happens func(*ledger)
		want    string // uid@resourceVersion of what is held
	}{
		"what arrives is held": {
			happens: func(l *ledger) { l.enter(key, at("a", "5")) },
			want:    "a@5",
		},
		"a late event does not undo what was read": {
			happens: func(l *ledger) { l.enter(key, at("a", "7")); l.enter(key, at("a", "6")) },
			want:    "a@7",
		},
		"resourceVersions are numbers, not text": {
			happens: func(l *ledger) { l.enter(key, at("a", "9")); l.enter(key, at("a", "10")) },
			want:    "a@10",
		},
		"what was read to be gone does not come back by a late event": {
			happens: func(l *ledger) { l.enter(key, at("a", "5")); l.bury(key, "a"); l.enter(key, at("a", "6")) },
		},
		"another one of the name does": {
			happens: func(l *ledger) { l.enter(key, at("a", "5")); l.bury(key, "a"); l.enter(key, at("b", "8")) },
			want:    "b@8",
		},
		"another one that arrived while it was read to be gone stays": {
			happens: func(l *ledger) {
				l.enter(key, at("a", "5"))
				l.strike(key, "6")
				l.enter(key, at("b", "8"))
				l.bury(key, "a")
			},
			want: "b@8",
		},
		"a deletion takes it out": {
			happens: func(l *ledger) { l.enter(key, at("a", "5")); l.strike(key, "6") },
		},
		"a late deletion spares its successor": {
			happens: func(l *ledger) { l.enter(key, at("b", "8")); l.strike(key, "6") },
			want:    "b@8",
		},
		"a list without it takes it out": {
			happens: func(l *ledger) {
				l.enter(key, at("a", "5"))
				l.replace(map[types.NamespacedName]record{}, "6")
			},
		},
		"a list from before it was read does not": {
			happens: func(l *ledger) {
				l.enter(key, at("a", "7"))
				l.replace(map[types.NamespacedName]record{}, "6")
			},
			want: "a@7",
		},
		"a list with an older one does not bring that back": {
			happens: func(l *ledger) {
				l.enter(key, at("a", "7"))
				l.replace(map[types.NamespacedName]record{key: at("a", "5")}, "6")
			},
			want: "a@7",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := newLedger()
			test.happens(&l)
			got := ""
			if r, ok := l.records[key]; ok {
				got = string(r.uid) + "@" + r.resourceVersion
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
