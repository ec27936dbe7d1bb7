// SPDX-License-Identifier: Apache-2.0

package objectcache

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func TestTheNewestRecordWins(t *testing.T) {
	key := types.NamespacedName{Namespace: "shop", Name: "settings"}
	at := func(uid, version string) Record { return Record{UID: types.UID(uid), ResourceVersion: version} }

	tests := map[string]struct {
		happens func(*records)
		want    string // uid@resourceVersion of what is held
	}{
		"what arrives is held": {
			happens: func(r *records) { r.put(key, at("a", "5")) },
			want:    "a@5",
		},
		"a late event does not undo what was read": {
			happens: func(r *records) { r.put(key, at("a", "7")); r.put(key, at("a", "6")) },
			want:    "a@7",
		},
		"resourceVersions are numbers, not text": {
			happens: func(r *records) { r.put(key, at("a", "9")); r.put(key, at("a", "10")) },
			want:    "a@10",
		},
		"what was read to be gone does not come back by a late event": {
			happens: func(r *records) { r.put(key, at("a", "5")); r.dropGone(key, "a"); r.put(key, at("a", "6")) },
		},
		"another one of the name does": {
			happens: func(r *records) { r.put(key, at("a", "5")); r.dropGone(key, "a"); r.put(key, at("b", "8")) },
			want:    "b@8",
		},
		"another one that arrived while it was read to be gone stays": {
			happens: func(r *records) {
				r.put(key, at("a", "5"))
				r.drop(key, "6")
				r.put(key, at("b", "8"))
				r.dropGone(key, "a")
			},
			want: "b@8",
		},
		"a deletion takes it out": {
			happens: func(r *records) { r.put(key, at("a", "5")); r.drop(key, "6") },
		},
		"a late deletion spares its successor": {
			happens: func(r *records) { r.put(key, at("b", "8")); r.drop(key, "6") },
			want:    "b@8",
		},
		"a list without it takes it out": {
			happens: func(r *records) {
				r.put(key, at("a", "5"))
				r.replace(map[types.NamespacedName]Record{}, "6")
			},
		},
		"a list from before it was read does not": {
			happens: func(r *records) {
				r.put(key, at("a", "7"))
				r.replace(map[types.NamespacedName]Record{}, "6")
			},
			want: "a@7",
		},
		"a list with an older one does not bring that back": {
			happens: func(r *records) {
				r.put(key, at("a", "7"))
				r.replace(map[types.NamespacedName]Record{key: at("a", "5")}, "6")
			},
			want: "a@7",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRecords()
			test.happens(&r)
			got := ""
			if rec, ok := r.held[key]; ok {
				got = string(rec.UID) + "@" + rec.ResourceVersion
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
