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
		want    string // uid@resourceVersion of the stored record; "" if there is none
	}{
		"a record that arrives is stored": {
			happens: func(r *records) { r.put(key, at("a", "5")) },
			want:    "a@5",
		},
		"a late event does not replace the result of a read": {
			happens: func(r *records) { r.put(key, at("a", "7")); r.put(key, at("a", "6")) },
			want:    "a@7",
		},
		"resourceVersions are numbers, not text": {
			happens: func(r *records) { r.put(key, at("a", "9")); r.put(key, at("a", "10")) },
			want:    "a@10",
		},
		"a late event does not bring back an object that a read did not find": {
			happens: func(r *records) { r.put(key, at("a", "5")); r.dropGone(key, "a"); r.put(key, at("a", "6")) },
		},
		"an event of a new object of that name does": {
			happens: func(r *records) { r.put(key, at("a", "5")); r.dropGone(key, "a"); r.put(key, at("b", "8")) },
			want:    "b@8",
		},
		"a new object that arrived during such a read stays": {
			happens: func(r *records) {
				r.put(key, at("a", "5"))
				r.drop(key, "6")
				r.put(key, at("b", "8"))
				r.dropGone(key, "a")
			},
			want: "b@8",
		},
		"a deletion removes the record": {
			happens: func(r *records) { r.put(key, at("a", "5")); r.drop(key, "6") },
		},
		"a late deletion does not remove a newer object of the name": {
			happens: func(r *records) { r.put(key, at("b", "8")); r.drop(key, "6") },
			want:    "b@8",
		},
		"a list without the object removes the record": {
			happens: func(r *records) {
				r.put(key, at("a", "5"))
				r.replace(map[types.NamespacedName]Record{}, "6")
			},
		},
		"a list that is older than the read does not": {
			happens: func(r *records) {
				r.put(key, at("a", "7"))
				r.replace(map[types.NamespacedName]Record{}, "6")
			},
			want: "a@7",
		},
		"a list with an older version does not replace the record": {
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
