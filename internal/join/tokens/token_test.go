// SPDX-License-Identifier: Apache-2.0

package tokens

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

func jwt(claims string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".c2ln"
}

func TestReadToken(t *testing.T) {
	for name, tc := range map[string]struct {
		token   string
		want    Credential
		wantErr string
	}{
		"its life": {token: jwt(`{"iat":100,"exp":400}`), want: Credential{Token: jwt(`{"iat":100,"exp":400}`), issued: time.Unix(100, 0), Expires: time.Unix(400, 0)}},
		"whose it is": {
			token: jwt(`{"iat":100,"exp":400,"kubernetes.io":{"namespace":"fairlead-system","serviceaccount":{"name":"fairlead-host","uid":"u-1"}}}`),
			want: Credential{
				Token:   jwt(`{"iat":100,"exp":400,"kubernetes.io":{"namespace":"fairlead-system","serviceaccount":{"name":"fairlead-host","uid":"u-1"}}}`),
				Account: "u-1", issued: time.Unix(100, 0), Expires: time.Unix(400, 0)}},
		"what it is bound to": {
			token: jwt(`{"iat":100,"exp":400,"kubernetes.io":{"secret":{"name":"s","uid":"u-2"}}}`),
			want: Credential{Token: jwt(`{"iat":100,"exp":400,"kubernetes.io":{"secret":{"name":"s","uid":"u-2"}}}`),
				secret: tokenSecret{"s", "u-2"}, issued: time.Unix(100, 0), Expires: time.Unix(400, 0)}},
		"an end after all times": {token: jwt(`{"iat":100,"exp":9223372036854775807}`), wantErr: "is out of range"},
		"no token":               {token: "", wantErr: "no JWT"},
		"an opaque one":          {token: "abc", wantErr: "no JWT"},
		"one without an end":     {token: jwt(`{"iat":100}`), wantErr: "when it expires"},
		"one that is not base64": {token: "a.?.c", wantErr: "decoding a service account's token"},
		"one that is not JSON":   {token: "a.YWJj.c", wantErr: "decoding a service account's token"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(tc.token)
			if diff := errortext.Diff(tc.wantErr, err); diff != "" {
				t.Fatal(diff)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(Credential{}, tokenSecret{})); diff != "" {
				t.Error(diff)
			}
		})
	}
}
