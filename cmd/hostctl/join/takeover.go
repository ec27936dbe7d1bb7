// SPDX-License-Identifier: Apache-2.0

package join

import (
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/ask"
	"github.com/fairlead-dev/fairlead/internal/join"
)

// confirm shows what the takeover of a member will do, and asks the user. --yes and --dry-run skip the question.
func (o *Options) confirm(t join.Takeover) error {
	_, _ = fmt.Fprint(o.ErrOut, plan(t)) // to stderr, because stdout is for data
	if o.Yes || o.DryRun {
		return nil
	}
	return ask.Confirm(o.IOStreams, "taking "+o.Name+" over", "Take "+o.Name+" over?")
}

// plan returns the text that tells the user to which host the member belongs, what the takeover does, and what becomes of the objects
// that the other host delivered.
func plan(t join.Takeover) string {
	collector := "No collector has reported on the member."
	if !t.Heartbeat.IsZero() {
		collector = "Its collector last reported at " + moment(t.Heartbeat) + "."
	}
	var left string
	switch t.Deliveries {
	case 0:
		left = "That host has no Deliveries on the member.\n"
	case 1:
		left = "Its one Delivery there becomes an orphan: "
	default:
		left = fmt.Sprintf("Its %d Deliveries there become orphans: ", t.Deliveries)
	}
	if t.Deliveries > 0 {
		left += "a wrapper of the same name on this host is held (WrapperReplaced)\n" +
			"until you run `hostctl recover NAME --keep host`.\n"
	}
	return fmt.Sprintf(`
The cluster at %[1]s is a member of another host, %[2]q (uid %[3]s),
which knows it as %[4]q, since %[5]s. %[6]s
Taking it over
  revokes  the accounts of that host and of its collector there: bindings, service accounts, and so every token
  gives    an account to %[7]q, with the grants %[8]s
  leaves   everything else as it is: no object of the other host is changed or deleted
%[9]sIf the other host still runs, it loses access and reports that on its MemberCluster. Run `+"`hostctl unjoin %[4]s --forget`"+` there.
The takeover does not revoke access that the other host got in another way, such as a client certificate or another account.

`, t.Endpoint, t.Owner.Host.Name, t.Owner.Host.UID, t.Owner.ClusterName, moment(t.Since), collector,
		t.Host.Name, strings.Join(t.Grants, ", "), left)
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
