// SPDX-License-Identifier: Apache-2.0

package describe

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTextIsWhatTheCommandPrintsInAPipe(t *testing.T) {
	w := storefront(asIs)
	got, err := Text(t.Context(), hostWith(t, nil, append(newEvents(), w)...), w, now)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/pipe.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func TestAWrapperWithACauseIsTroubled(t *testing.T) {
	for name, test := range map[string]struct {
		troubled bool
		got      func() (bool, error)
	}{
		"degraded": {true, func() (bool, error) { return Troubled(storefront(asIs)) }},
		"healthy":  {false, func() (bool, error) { return Troubled(storefront(well)) }},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := test.got(); err != nil || got != test.troubled {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}
