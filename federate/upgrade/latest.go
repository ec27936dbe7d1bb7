// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
)

// Report has the versions of one Subscription on one member of the first wave. Installed and Offered are both "" while
// OLM chooses a CSV, and until the member's collector has reported on the present Subscription.
type Report struct {
	Member string
	// Installed is the CSV that is installed and has succeeded; "" if none has.
	// Offered is the CSV that OLM would install next, or is installing; "" if there is none.
	Installed, Offered string
}

// Choice is the version to take for a Subscription with `approve: Latest`.
type Choice struct {
	// CSV is the version to take; "" to keep the present one.
	CSV string
	// Reason is why there is no version to take, and Message explains it. Both are "" if a person need not know.
	Reason, Message string
}

// Choose returns the version to take from the reports of the first wave. The parameter taken is the version that
// the manager took last; "" if it took none. The parameter absent has the members of the wave whose reports do not count, each with
// the reason, as text for a message.
//   - A member reports the version that OLM offers it. If OLM offers none, it reports the installed one.
//   - All members that report a version have to report the same one. For the first version, every member has to report
//     one.
//   - If no member reports a version, Choose keeps the present one, and names the members: the on-call may have to bring one back.
//   - Choose never goes back from the version taken to an earlier one. If the names give no order (see Order), a version
//     counts as later only if OLM offers it to a member on which the version taken is installed.
func Choose(taken string, reports []Report, absent []string) Choice {
	var tellers []Report
	var silent []string // members that OLM offers no version yet
	for _, r := range reports {
		if r.version() == "" {
			silent = append(silent, r.Member)
			continue
		}
		tellers = append(tellers, r)
	}
	switch {
	case taken == "" && len(reports) == 0:
		return pending("no cluster of the first wave has the Subscription yet" + named(absent))
	case taken == "" && len(silent) > 0:
		return pending(fmt.Sprintf("OLM offers no version yet on %s", messages.Few(silent, maxNamed)))
	case len(tellers) == 0 && len(silent)+len(absent) == 0:
		return Choice{} // the first wave has no placed member
	case len(tellers) == 0:
		for i := range silent {
			silent[i] += " (reports none yet)"
		}
		return pending("no cluster of the first wave reports a version" + named(append(silent, absent...)))
	}
	version := tellers[0].version()
	if slices.ContainsFunc(tellers, func(r Report) bool { return r.version() != version }) {
		if slices.ContainsFunc(tellers, func(r Report) bool { return r.isOnTheWayTo(taken) }) {
			return Choice{} // the members may report the same version once they all have the one taken
		}
		return Choice{Reason: v1alpha1.ReasonVersionsDiffer, Message: differing(tellers)}
	}
	if version == taken || slices.ContainsFunc(tellers, func(r Report) bool { return !r.isAfter(taken) }) {
		return Choice{}
	}
	return Choice{CSV: version}
}

// csvName is the pattern of the API for targetCSV. A report comes from a member, and may be any text.
var csvName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// version returns the version in a report: the offered one, or the installed one if none is offered. It returns "" if
// neither is a valid name.
func (r *Report) version() string {
	for _, csv := range []string{r.Offered, r.Installed} {
		if csvName.MatchString(csv) {
			return csv
		}
	}
	return ""
}

// isOnTheWayTo reports whether a member has not installed the version taken, but may still install it.
func (r *Report) isOnTheWayTo(taken string) bool {
	if taken == "" || r.Installed == taken {
		return false
	}
	order, known := Order(r.version(), taken)
	return r.version() == taken || known && order < 0
}

// isAfter reports whether the version that a member reports is certainly later than the version taken.
func (r *Report) isAfter(taken string) bool {
	if taken == "" {
		return true
	}
	if order, known := Order(r.version(), taken); known {
		return order > 0
	}
	return r.Installed == taken && r.Offered == r.version()
}

// named returns the end of a message that names members; "" if there are none.
func named(members []string) string {
	if len(members) == 0 {
		return ""
	}
	return ": " + messages.Few(members, maxNamed)
}

func pending(message string) Choice {
	return Choice{Reason: v1alpha1.ReasonVersionPending, Message: message}
}

// differing returns a message that names the reported versions, each with the first member that reports it.
func differing(tellers []Report) string {
	var versions, words []string
	for i := range tellers {
		if version := tellers[i].version(); !slices.Contains(versions, version) {
			versions, words = append(versions, version), append(words, version+" on "+tellers[i].Member)
		}
	}
	return "the clusters of the first wave report different versions, so the manager takes none: " + messages.Few(words, maxNamed)
}
