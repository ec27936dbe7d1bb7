// SPDX-License-Identifier: Apache-2.0

package join

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/join"
)

func TestBeforeAMemberIsTakenOver(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC) }
	takeover := join.Takeover{Endpoint: "https://eu", Since: at(3), Heartbeat: at(4), Deliveries: 2,
		Owner: v1alpha1.MembershipSpec{Host: v1alpha1.HostIdentity{UID: "u-1", Name: "atlantis"}, ClusterName: "eu-old"},
		Host:  v1alpha1.HostIdentity{UID: "u-2", Name: "prod"}, Grants: []string{"core", "olm"}}
	for name, tc := range map[string]struct {
		change   func(*Options, *join.Takeover)
		answer   string
		wantErr  string
		wantCode int
		wantSaid []string
	}{
		"the plan names the owner, the steps and the consequences": {answer: "y\n", wantSaid: []string{
			`The cluster at https://eu is a member of another host, "atlantis" (uid u-1)`, `as "eu-old", since 2026-01-02 03:00:00 UTC`,
			"Its collector last reported at 2026-01-02 04:00:00 UTC.", `an account to "prod", with the grants core, olm`,
			"Its 2 Deliveries there become orphans", "`hostctl recover NAME --keep host`", "`hostctl unjoin eu-old --forget`", "Take eu-1 over? [y/N]"}},
		"one Delivery":              {answer: "y\n", change: func(_ *Options, t *join.Takeover) { t.Deliveries = 1 }, wantSaid: []string{"Its one Delivery there becomes an orphan"}},
		"no Delivery":               {answer: "y\n", change: func(_ *Options, t *join.Takeover) { t.Deliveries = 0 }, wantSaid: []string{"has no Deliveries on the member."}},
		"no heartbeat":              {answer: "y\n", change: func(_ *Options, t *join.Takeover) { t.Heartbeat = time.Time{} }, wantSaid: []string{"No collector has reported on the member."}},
		"the answer no":             {answer: "n\n", wantErr: "nothing was done", wantCode: exit.Failed},
		"an empty answer":           {answer: "\n", wantErr: "nothing was done", wantCode: exit.Failed},
		"--yes prints the plan":     {change: func(o *Options, _ *join.Takeover) { o.Yes = true }, wantSaid: []string{"is a member of another host"}},
		"a dry run prints the plan": {change: func(o *Options, _ *join.Takeover) { o.DryRun = true }, wantSaid: []string{"is a member of another host"}},
	} {
		t.Run(name, func(t *testing.T) {
			said := &bytes.Buffer{}
			o, _ := newCommand(genericiooptions.IOStreams{In: strings.NewReader(tc.answer), Out: &bytes.Buffer{}, ErrOut: said})
			o.Name = "eu-1"
			its := takeover
			if tc.change != nil {
				tc.change(o, &its)
			}
			err := o.confirm(its)
			if tc.wantErr == "" && err != nil || tc.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tc.wantErr) || exit.CodeOf(err) != tc.wantCode) {
				t.Errorf("got %d %v, want %d and %q", exit.CodeOf(err), err, tc.wantCode, tc.wantErr)
			}
			for _, want := range tc.wantSaid {
				if !strings.Contains(said.String(), want) {
					t.Errorf("want %q in:\n%s", want, said)
				}
			}
		})
	}
}
