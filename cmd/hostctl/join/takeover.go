// SPDX-License-Identifier: Apache-2.0

package join

import (
	"fmt"
	"strings"
	"time"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/ask"
	"github.com/fairlead-dev/fairlead/internal/join"
)

// confirm shows what a takeover does, and asks.
func (o *Options) confirm(t join.Takeover) error {
	_, _ = fmt.Fprint(o.ErrOut, plan(t)) // as all progress
	if o.Yes || o.DryRun {
		return nil
	}
	return ask.Confirm(o.IOStreams, "taking "+o.Name+" over", "Take "+o.Name+" over?")
}

// plan says whose member is taken, what is done to it, and what comes of what that host has brought there.
func plan(t join.Takeover) string {
	heard := "No collector has spoken there."
	if !t.Heartbeat.IsZero() {
		heard = "Its collector spoke last at " + moment(t.Heartbeat) + "."
	}
	var left string
	switch t.Deliveries {
	case 0:
		left = "That host has no Deliveries there.\n"
	case 1:
		left = "Its one Delivery there is an orphan then: "
	default:
		left = fmt.Sprintf("Its %d Deliveries there are orphans then: ", t.Deliveries)
	}
	if t.Deliveries > 0 {
		left += "a wrapper of the same name that is made here is held (WrapperReplaced)\n" +
			"until `hostctl recover NAME --keep host` says that its word counts.\n"
	}
	return fmt.Sprintf(`
The cluster at %[1]s is a member of another host, %[2]q (uid %[3]s),
which knows it as %[4]q, since %[5]s. %[6]s
Taking it over
  revokes  that host's account there and its collector's: bindings, service accounts and with them every token
  gives    an account to %[7]q, with the grants %[8]s
  leaves   everything else as it is: nothing that the other host has delivered is changed or deleted
%[9]sIf that host lives it is shut out, says so on its MemberCluster, and lets go by `+"`hostctl unjoin %[4]s --forget`"+` there.
What a person gave it besides, a client certificate or another account, is not known here and goes on to work.

`, t.Endpoint, t.Owner.Host.Name, t.Owner.Host.UID, t.Owner.ClusterName, moment(t.Since), heard,
		t.Host.Name, strings.Join(t.Grants, ", "), left)
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
