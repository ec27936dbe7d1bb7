// SPDX-License-Identifier: Apache-2.0

package digest

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

func TestTheBordersOfPiecesChangeTheDigest(t *testing.T) {
	seen := map[string]bool{}
	all := [][][]byte{nil, {nil}, {nil, nil}, {[]byte("ab")}, {[]byte("a"), []byte("b")}, {[]byte("ab"), nil}, {nil, []byte("ab")}}
	for _, pieces := range all {
		seen[Of(pieces...)] = true
	}
	if len(seen) != len(all) {
		t.Errorf("%d digests of %d different lists", len(seen), len(all))
	}
	if got := Of([]byte("a")); got != Of([]byte("a")) || !strings.HasPrefix(got, "sha256:") {
		t.Errorf("%s", got)
	}
}

func TestTheSumOfAValueIsThatOfItsJSON(t *testing.T) {
	found := v1alpha1.Evidence{Events: []v1alpha1.ObservedEvent{{
		Kind: "Pod", Name: "web-1", Type: "Warning", Reason: "BackOff", Message: "a <b> & c", Count: 3,
		LastTime: metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
	}}}
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"a value of an API type":          {found, "sha256:f6facc0049bb7e28d20014e2cd0e064c973a32cd7d750ddafdb94d34e8410a18"},
		"a pointer to the same value":     {&found, "sha256:f6facc0049bb7e28d20014e2cd0e064c973a32cd7d750ddafdb94d34e8410a18"},
		"a list of a list and a number":   {[]any{[]string{"east"}, int32(1)}, "sha256:d365088790e2e91223d68f5c81bce7140cc7c1f85c1da2eccb8a114a870de194"},
		"a value that JSON cannot encode": {func() {}, Sum{}.String()},
	} {
		if got := SumOfJSON(tc.value).String(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}
