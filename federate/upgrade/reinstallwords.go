// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"fmt"
	"strings"

	"github.com/fairlead-dev/fairlead/federate/messages"
)

// MaxAnnouncement is the length of a message in a line of the status, in bytes. The status cuts a longer one.
const MaxAnnouncement = 256

// announcement says what a reinstall removes, how to stop it, and what stays. The first two always fit into a line of the status: names
// are shortened until they do. The rest follows as far as it fits.
func (o *Operator) announcement(removal *Removal) string {
	text := ""
	for _, most := range []int{64, 40, 32, 24} {
		if text = o.announced(removal, most); len(text) <= MaxAnnouncement {
			break
		}
	}
	webhooks := ""
	for _, one := range removal.CSVs {
		if csv := o.csv(one.Name); csv != nil && csv.HasWebhooks {
			webhooks = " and its webhooks do not convert"
		}
	}
	for _, more := range []string{"; CRDs and custom resources stay", "; until then no operator runs" + webhooks} {
		if len(text)+len(more) <= MaxAnnouncement {
			text += more
		}
	}
	return text
}

// announced says what a reinstall removes, and how to stop it. No name is longer than most.
func (o *Operator) announced(removal *Removal, most int) string {
	names := make([]string, 0, len(removal.CSVs))
	for _, one := range removal.CSVs {
		names = append(names, shortName(one.Name, most))
	}
	what := "Subscription " + shortName(o.Name, most)
	if len(names) > 0 {
		what = messages.Few(names, maxNamed) + " and " + what
	}
	return fmt.Sprintf("in %s the manager removes %s and installs %s; rollback: Never stops it", AnnouncedFor, what, shortName(o.Target, most))
}

// shortName shortens a name in the middle: its end has the version.
func shortName(name string, most int) string {
	if len(name) <= most {
		return name
	}
	const dots = "…"
	end := (most - len(dots)) * 2 / 3
	return strings.ToValidUTF8(name[:most-len(dots)-end], "") + dots + strings.ToValidUTF8(name[len(name)-end:], "")
}
