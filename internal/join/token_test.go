// SPDX-License-Identifier: Apache-2.0

package join

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func jwt(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestReadToken(t *testing.T) {
	for name, tc := range map[string]struct {
		token   string
		want    credential
		wantErr string
	}{
		"its life": {token: jwt(`{"iat":100,"exp":400}`), want: credential{token: jwt(`{"iat":100,"exp":400}`), issued: time.Unix(100, 0), expires: time.Unix(400, 0)}},
		"whose it is": {
			token: jwt(`{"iat":100,"exp":400,"kubernetes.io":{"namespace":"fairlead-system","serviceaccount":{"name":"fairlead-host","uid":"u-1"}}}`),
			want: credential{
				token:   jwt(`{"iat":100,"exp":400,"kubernetes.io":{"namespace":"fairlead-system","serviceaccount":{"name":"fairlead-host","uid":"u-1"}}}`),
				account: "u-1", issued: time.Unix(100, 0), expires: time.Unix(400, 0)}},
		"no token":               {token: "", wantErr: "no JWT"},
		"an opaque one":          {token: "abc", wantErr: "no JWT"},
		"one without an end":     {token: jwt(`{"iat":100}`), wantErr: "when it expires"},
		"one that is not base64": {token: "a.?.c", wantErr: "reading a token"},
		"one that is not JSON":   {token: "a.YWJj.c", wantErr: "reading a token"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := readToken(tc.token)
			if diff := wordsDiff(tc.wantErr, err); diff != "" {
				t.Fatal(diff)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(credential{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestATokenIsKeptForTwoThirdsOfItsLife(t *testing.T) {
	c := credential{issued: time.Unix(0, 0), expires: time.Unix(300, 0)}
	for name, tc := range map[string]struct {
		at   int64
		want bool
	}{
		"new":                   {at: 0, want: true},
		"before the last third": {at: 199, want: true},
		"in the last third":     {at: 200, want: false},
		"expired":               {at: 301, want: false},
	} {
		if got := c.fresh(time.Unix(tc.at, 0)); got != tc.want {
			t.Errorf("%s: want %t, got %t", name, tc.want, got)
		}
	}
}
