// SPDX-License-Identifier: Apache-2.0

package evidencerequest

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
)

// MaxOnMember is how many requests the Deliveries of one member may have in all. It bounds the work of the collector, and what the answers
// take of the host's memory.
const MaxOnMember = 32

// MaxReports is how many reports about one Delivery may have a request at a time. Reports that ask for the same share a request, but each of them
// has a copy of the answer in the host's etcd.
const MaxReports = 8

// Ask is the request of one report. Check has found nothing that keeps it from being sent.
type Ask struct {
	// Report identifies the report, for example by namespace and name.
	Report string
	// Created is when the report was created. Expires is when the request ends.
	Created, Expires time.Time
	// Delivery identifies the Delivery that gets the request.
	Delivery string
	// Type, Object and SinceSeconds are what the person asks for.
	Type         v1alpha1.EvidenceType
	Object       v1alpha1.ReportedObject
	SinceSeconds int32
}

// AskOf returns the request of a report.
func AskOf(report *v1alpha1.MemberReport, delivery string) Ask {
	return Ask{Report: report.Namespace + "/" + report.Name, Created: report.CreationTimestamp.Time, Expires: Expires(report), Delivery: delivery,
		Type: report.Spec.Request, Object: report.Spec.Object, SinceSeconds: report.Spec.SinceSeconds}
}

// asks reports whether a request in a Delivery is for the same evidence as this report.
func (a *Ask) asks(r *v1alpha1.EvidenceRequest) bool {
	return r.Type == a.Type && r.Group == a.Object.Group && r.Kind == a.Object.Kind && r.Name == a.Object.Name
}

// Assigned are the requests on one member, as its Deliveries get them.
type Assigned struct {
	// Lists has the requests of each Delivery, sorted by object and type.
	Lists map[string][]v1alpha1.EvidenceRequest
	// Waiting has the reports whose requests no Delivery gets, because the limits are reached.
	Waiting map[string]bool
}

// Assign returns the requests that the Deliveries of one member get: at most 4 each, for at most 8 reports, and 32 in all. If there are more, the oldest
// reports come first. Reports that ask for the same evidence share a request. It lasts until the last of these reports ends, and asks for every
// log line for which one of them asks.
func Assign(asks []Ask) Assigned {
	asks = slices.SortedFunc(slices.Values(asks), func(a, b Ask) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Report, b.Report)) })
	out, total := Assigned{Lists: make(map[string][]v1alpha1.EvidenceRequest), Waiting: make(map[string]bool)}, 0
	reports := make(map[string]int) // of each Delivery
	for i := range asks {
		a := &asks[i]
		list := out.Lists[a.Delivery]
		if reports[a.Delivery] >= MaxReports {
			out.Waiting[a.Report] = true
			continue
		}
		expires := metav1.NewTime(a.Expires.UTC().Truncate(time.Second)) // as JSON has it
		if known := slices.IndexFunc(list, func(r v1alpha1.EvidenceRequest) bool { return a.asks(&r) }); known >= 0 {
			r := &list[known]
			if r.SinceSeconds == 0 || a.SinceSeconds == 0 {
				r.SinceSeconds = 0 // all lines
			} else {
				r.SinceSeconds = max(r.SinceSeconds, a.SinceSeconds)
			}
			if r.Expires.Before(&expires) {
				r.Expires = expires
			}
			reports[a.Delivery]++
			continue
		}
		if len(list) >= evidence.MaxAnswers || total >= MaxOnMember {
			out.Waiting[a.Report] = true
			continue
		}
		total++
		reports[a.Delivery]++
		out.Lists[a.Delivery] = append(list, v1alpha1.EvidenceRequest{Group: a.Object.Group, Kind: a.Object.Kind, Name: a.Object.Name, Type: a.Type,
			SinceSeconds: a.SinceSeconds, Expires: expires})
	}
	for _, list := range out.Lists {
		slices.SortFunc(list, func(a, b v1alpha1.EvidenceRequest) int {
			return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Type, b.Type))
		})
	}
	return out
}

// AnswerTo returns the answer to a report among the answers of its Delivery; nil if there is none. list has the requests of the Delivery.
// An answer counts only if its request is in the list, so the answer to an earlier request for the same evidence does not count.
func AnswerTo(a *Ask, list []v1alpha1.EvidenceRequest, answers []v1alpha1.EvidenceAnswer) *v1alpha1.EvidenceAnswer {
	for i := range answers {
		is := &answers[i]
		if a.asks(&is.Request) && slices.ContainsFunc(list, func(r v1alpha1.EvidenceRequest) bool { return Same(&r, &is.Request) }) {
			return is
		}
	}
	return nil
}

// Same reports whether two requests are equal.
func Same(a, b *v1alpha1.EvidenceRequest) bool {
	return a.Group == b.Group && a.Kind == b.Kind && a.Name == b.Name && a.Type == b.Type && a.SinceSeconds == b.SinceSeconds && a.Expires.Equal(&b.Expires)
}

// SameList reports whether two lists of requests are equal.
func SameList(a, b []v1alpha1.EvidenceRequest) bool {
	return slices.EqualFunc(a, b, func(x, y v1alpha1.EvidenceRequest) bool { return Same(&x, &y) })
}
