// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// leads is the part of each scrape without which FairleadManagerAbsent fires.
const leads = `# TYPE leader_election_master_status gauge
leader_election_master_status{name="fairlead-manager"} 1
`

func TestAlerts(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	refused := func(n int) string {
		return fmt.Sprintf("# TYPE fairlead_rejected_applies_total counter\nfairlead_rejected_applies_total{member=\"east\",reason=\"Refused\"} %d\n", n)
	}
	pushes := func(fast, all int) string {
		return fmt.Sprintf("# TYPE fairlead_push_duration_seconds histogram\nfairlead_push_duration_seconds_bucket{member=\"east\",le=\"15\"} %d\n"+
			"fairlead_push_duration_seconds_bucket{member=\"east\",le=\"60\"} %[2]d\nfairlead_push_duration_seconds_bucket{member=\"east\",le=\"+Inf\"} %[2]d\n"+
			"fairlead_push_duration_seconds_sum{member=\"east\"} 90\nfairlead_push_duration_seconds_count{member=\"east\"} %[2]d\n", fast, all)
	}
	token := func(due, ends time.Duration) string {
		return fmt.Sprintf("# TYPE fairlead_member_credentials_expire_timestamp_seconds gauge\nfairlead_member_credentials_expire_timestamp_seconds{member=\"east\"} %d\n"+
			"# TYPE fairlead_member_token_renewal_due_timestamp_seconds gauge\nfairlead_member_token_renewal_due_timestamp_seconds{member=\"east\",account=\"fairlead-host\"} %d\n",
			now.Add(ends).Unix(), now.Add(due).Unix())
	}
	const older = "# TYPE fairlead_member_version_skew gauge\nfairlead_member_version_skew{member=\"east\"} -1\n"
	const unreachable = "# TYPE fairlead_member_condition gauge\nfairlead_member_condition{member=\"east\",condition=\"Reachable\"} 0\n"
	for name, test := range map[string]struct {
		before, after string
		want          []string
	}{
		"all is well":                    {before: leads + refused(7), after: leads + refused(7)},
		"a manager that does not answer": {want: []string{"FairleadManagerAbsent{}"}},
		"a gauge keeps the later value":  {before: leads, after: leads + unreachable, want: []string{`FairleadMemberUnreachable{member="east"}`}},
		"a gauge that was bad before":    {before: leads + unreachable, after: leads},
		"a counter that goes on":         {before: leads + refused(7), after: leads + refused(8), want: []string{`FairleadAppliesRejected{member="east"}`}},
		"a counter that is new":          {before: leads, after: leads + refused(1), want: []string{`FairleadAppliesRejected{member="east"}`}},
		"a manager that was restarted":   {before: leads + refused(7), after: leads + refused(0)},
		"a histogram that goes on":       {before: leads + pushes(100, 100), after: leads + pushes(100, 101), want: []string{`FairleadPushesSlow{member="east"}`}},
		"a histogram as it was":          {before: leads + pushes(0, 100), after: leads + pushes(0, 100)},
		"a member that stays older":      {before: leads + older, after: leads + older, want: []string{`FairleadVersionSkew{member="east"}`}},
		"a token that ends soon":         {before: leads, after: leads + token(-24*24*time.Hour, 5*24*time.Hour), want: []string{`FairleadCredentialsExpireSoon{account="fairlead-host"}`}},
		"a token that is renewed":        {before: leads, after: leads + token(7*time.Hour, 23*time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			firing, err := alertsAfter([]byte(test.before), []byte(test.after), now)
			if err != nil {
				t.Fatal(err)
			}
			found, err := compareAlerts(firing, test.want)
			if err != nil || len(found) > 0 {
				t.Errorf("%v %q", err, found)
			}
		})
	}
}

func TestTheCommandFailsUnlessTheNamedAlertsFire(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	well := write("well", leads)
	ill := write("ill", leads+"# TYPE fairlead_member_condition gauge\nfairlead_member_condition{member=\"east\",condition=\"Reachable\"} 0\n")
	for name, test := range map[string]struct {
		args  []string
		fails bool
		want  string
	}{
		"they do":           {args: []string{well, ill, `FairleadMemberUnreachable{member="east"}`}},
		"none has to":       {args: []string{well, well}},
		"one does not fire": {args: []string{well, well, "FairleadMemberUnreachable"}, fails: true, want: "FairleadMemberUnreachable does not fire"},
		"one fires for another member": {args: []string{well, ill, `FairleadMemberUnreachable{member="west"}`}, fails: true,
			want: `FairleadMemberUnreachable{member="west"} does not fire` + "\n" + `not expected: FairleadMemberUnreachable{member="east", severity="warning"}: The API server`},
		"one fires that was not named": {args: []string{well, ill}, fails: true, want: `not expected: FairleadMemberUnreachable{member="east", severity="warning"}`},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			err := run(append([]string{"alerts"}, test.args...), &out)
			if (err != nil) != test.fails || !strings.Contains(out.String(), test.want) {
				t.Errorf("error %v, output:\n%s", err, cmp.Diff(test.want, out.String()))
			}
		})
	}
}
