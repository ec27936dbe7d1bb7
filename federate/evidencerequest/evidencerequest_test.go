// SPDX-License-Identifier: Apache-2.0

package evidencerequest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

var (
	now        = time.Date(2026, 1, 1, 10, 0, 0, 0, time.UTC)
	deployment = v1alpha1.ReportedObject{Group: "apps", Kind: "Deployment", Name: "web"}
)

func report(change func(*v1alpha1.MemberReport)) *v1alpha1.MemberReport {
	r := &v1alpha1.MemberReport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-x", CreationTimestamp: metav1.NewTime(now)}, Spec: v1alpha1.MemberReportSpec{
		Wrapper: v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: "web", UID: "uid-web"},
		Request: v1alpha1.EvidenceLogs, Cluster: "east", Object: v1alpha1.ReportedObject{Kind: "ConfigMap", Name: "a"}, Expires: metav1.NewTime(now.Add(time.Minute))}}
	if change != nil {
		change(r)
	}
	return r
}

func TestWhyARequestIsNotSent(t *testing.T) {
	web := build.Federated("web").In("shop").With(build.ConfigMap("a")).Obj()
	web.UID = "uid-web"
	web.Status.Placement = v1alpha1.PlacementStatus{ObservedGeneration: 1, Clusters: []string{"east", "gone"}}
	unplaced := web.DeepCopy()
	unplaced.Status.Placement.Clusters = nil
	for name, test := range map[string]struct {
		change func(*v1alpha1.MemberReport)
		w      v1alpha1.Wrapper
		lacks  bool
		want   string
	}{
		"all is as it has to be":        {w: web},
		"the namespace has no such one": {want: "WrapperNotFound: this namespace has no Federated web"},
		"a ClusterFederated from the namespace of a person": {change: func(r *v1alpha1.MemberReport) { r.Spec.Wrapper.Kind = v1alpha1.KindClusterFederated },
			want: "WrapperNotFound: reports about a ClusterFederated have to be in namespace fairlead-system"},
		"a wrapper that was created again": {w: web, change: func(r *v1alpha1.MemberReport) { r.Spec.Wrapper.UID = "uid-old" }, want: "WrapperNotFound: Federated web has another uid"},
		"a Secret":                         {w: web, change: func(r *v1alpha1.MemberReport) { r.Spec.Object.Kind = "Secret" }, want: "SecretRequested: "},
		"an object of another name":        {w: web, change: func(r *v1alpha1.MemberReport) { r.Spec.Object.Name = "b" }, want: "ObjectNotFound: the wrapper lists no ConfigMap/b; it lists ConfigMap/a"},
		"an object of another group":       {w: web, change: func(r *v1alpha1.MemberReport) { r.Spec.Object.Group = "x.org" }, want: "ObjectNotFound: "},
		"a member that has it not": {w: web, change: func(r *v1alpha1.MemberReport) { r.Spec.Cluster = "west" },
			want: "ClusterNotPlaced: the wrapper is not placed on member west; it is placed on east, gone"},
		"a wrapper that is placed nowhere": {w: unplaced, want: "ClusterNotPlaced: the wrapper is not placed on member east; it is placed on no member"},
		"a member that the host does not know": {w: web, lacks: true, change: func(r *v1alpha1.MemberReport) { r.Spec.Cluster = "west" },
			want: "ClusterNotFound: the host has no MemberCluster west; the wrapper is placed on east"},
		"a member that was deleted": {w: web, lacks: true, change: func(r *v1alpha1.MemberReport) { r.Spec.Cluster = "gone" }, want: "ClusterNotFound: the host has no MemberCluster gone any more"},
	} {
		got := ""
		if p := Check(report(test.change), test.w, !test.lacks); p != nil {
			got = p.Reason + ": " + p.Message
		}
		if (test.want == "") != (got == "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestTheObjectsOfAWrapper(t *testing.T) {
	w := build.Federated("web").In("shop").Obj()
	for _, raw := range []string{
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}`,
		`{"apiVersion":"v1","kind":"Service","metadata":{"name":"web"}}`,
		`{"apiVersion":"apps/v1beta1","kind":"Deployment","metadata":{"name":"web"}}`,
		`{"apiVersion":"v1","metadata":{"name":"without a kind"}}`,
		`{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-"}}`,
		`no JSON`,
	} {
		w.Spec.Objects = append(w.Spec.Objects, runtime.RawExtension{Raw: []byte(raw)})
	}
	if diff := cmp.Diff([]v1alpha1.ReportedObject{deployment, {Kind: "Service", Name: "web"}}, Objects(w)); diff != "" {
		t.Error(diff)
	}
}

func TestTheNamespaceOfAReportDecidesAboutItsWrapper(t *testing.T) {
	for name, test := range map[string]struct {
		kind      v1alpha1.WrapperKind
		namespace string
		want      string
	}{
		"a Federated is in the namespace of the report": {v1alpha1.KindFederated, "shop", "shop true"},
		"a ClusterFederated in a namespace":             {v1alpha1.KindClusterFederated, "shop", " false"},
		"a ClusterFederated in that of Fairlead":        {v1alpha1.KindClusterFederated, v1alpha1.SystemNamespace, " true"},
	} {
		r := report(func(r *v1alpha1.MemberReport) { r.Namespace, r.Spec.Wrapper.Kind = test.namespace, test.kind })
		if id, ok := Identity(r); fmt.Sprint(id.Namespace, " ", ok) != test.want {
			t.Errorf("%s: %+v %t", name, id, ok)
		}
	}
}

func TestAReportLastsAnHourAtMost(t *testing.T) {
	for name, test := range map[string]struct{ after, want time.Duration }{
		"a minute":         {time.Minute, time.Minute},
		"the hour":         {time.Hour, time.Hour},
		"a day":            {24 * time.Hour, time.Hour},
		"it has ended yet": {-time.Minute, -time.Minute},
	} {
		if got := Expires(report(func(r *v1alpha1.MemberReport) { r.Spec.Expires = metav1.NewTime(now.Add(test.after)) })); !got.Equal(now.Add(test.want)) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// ask makes the request of report number n for a Delivery. A report with a greater number was created later.
func ask(n int, delivery string, change func(*Ask)) Ask {
	a := Ask{Report: fmt.Sprint("r", n), Created: now.Add(time.Duration(n) * time.Second), Expires: now.Add(time.Minute), Delivery: delivery, Type: v1alpha1.EvidenceLogs, Object: deployment}
	if change != nil {
		change(&a)
	}
	return a
}

func show(a Assigned) (lines []string) {
	for delivery, list := range a.Lists {
		for _, r := range list {
			lines = append(lines, fmt.Sprintf("%s: %s %s/%s since %d until %s", delivery, r.Type, r.Kind, r.Name, r.SinceSeconds, r.Expires.Sub(now)))
		}
	}
	for report := range a.Waiting {
		lines = append(lines, report+" waits")
	}
	return lines
}

func TestRequestsForTheSameEvidenceAreOne(t *testing.T) {
	since := func(seconds int32, expires time.Duration) func(*Ask) {
		return func(a *Ask) { a.SinceSeconds, a.Expires = seconds, now.Add(expires) }
	}
	for name, test := range map[string]struct {
		asks []Ask
		want []string
	}{
		"the longer time counts":       {[]Ask{ask(1, "d", since(60, time.Minute)), ask(2, "d", since(300, time.Second))}, []string{"d: Logs Deployment/web since 300 until 1m0s"}},
		"the later end counts":         {[]Ask{ask(1, "d", since(60, time.Minute)), ask(2, "d", since(60, time.Hour))}, []string{"d: Logs Deployment/web since 60 until 1h0m0s"}},
		"all lines are more than some": {[]Ask{ask(1, "d", since(60, time.Minute)), ask(2, "d", since(0, time.Minute)), ask(3, "d", since(5, time.Minute))}, []string{"d: Logs Deployment/web since 0 until 1m0s"}},
		"events are others": {[]Ask{ask(1, "d", nil), ask(2, "d", func(a *Ask) { a.Type = v1alpha1.EvidenceEvents })},
			[]string{"d: Events Deployment/web since 0 until 1m0s", "d: Logs Deployment/web since 0 until 1m0s"}},
		"JSON has no parts of seconds": {[]Ask{ask(1, "d", since(0, time.Minute+300*time.Millisecond))}, []string{"d: Logs Deployment/web since 0 until 1m0s"}},
		"nothing":                      {},
	} {
		if diff := cmp.Diff(test.want, show(Assign(test.asks))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestTheOldestReportsGetThePlaces(t *testing.T) {
	named := func(n int) func(*Ask) { return func(a *Ask) { a.Object.Name = fmt.Sprint("o", n) } }
	var asks []Ask
	for n := 5; n >= 0; n-- {
		asks = append(asks, ask(n, "d", named(n)))
	}
	asks = append(asks, ask(9, "d", named(0))) // shares the request of r0
	got := Assign(asks)
	if len(got.Lists["d"]) != 4 || len(got.Waiting) != 2 || !got.Waiting["r4"] || !got.Waiting["r5"] {
		t.Errorf("%q", show(got))
	}
	asks = nil
	for n := range 40 {
		asks = append(asks, ask(n, fmt.Sprint("d", n/4), named(n)))
	}
	if got = Assign(asks); len(got.Lists) != 8 || len(got.Waiting) != 8 || got.Waiting["r31"] || !got.Waiting["r32"] {
		t.Errorf("%q", show(got))
	}
}

// Each report has a copy of the answer in etcd.
func TestReportsThatShareARequestAreFew(t *testing.T) {
	var asks []Ask
	for n := 9; n >= 0; n-- {
		asks = append(asks, ask(n, "d", nil))
	}
	asks = append(asks, ask(20, "d", func(a *Ask) { a.Object.Name = "other" }), ask(21, "e", nil))
	got := Assign(asks)
	if len(got.Lists["d"]) != 1 || len(got.Lists["e"]) != 1 || len(got.Waiting) != 3 || !got.Waiting["r8"] || !got.Waiting["r9"] || !got.Waiting["r20"] {
		t.Errorf("%q", show(got))
	}
}

func TestTheAnswerToAnEarlierRequestDoesNotCount(t *testing.T) {
	a := ask(1, "d", nil)
	list := Assign([]Ask{a}).Lists["d"]
	answer := func(change func(*v1alpha1.EvidenceRequest)) []v1alpha1.EvidenceAnswer {
		r := list[0]
		if change != nil {
			change(&r)
		}
		return []v1alpha1.EvidenceAnswer{{Request: r}}
	}
	for name, test := range map[string]struct {
		answers []v1alpha1.EvidenceAnswer
		want    bool
	}{
		"the answer":                        {answer(nil), true},
		"none":                              {nil, false},
		"one to a request that has ended":   {answer(func(r *v1alpha1.EvidenceRequest) { r.Expires = metav1.NewTime(now) }), false},
		"one for fewer lines":               {answer(func(r *v1alpha1.EvidenceRequest) { r.SinceSeconds = 5 }), false},
		"one about another object":          {answer(func(r *v1alpha1.EvidenceRequest) { r.Name = "other" }), false},
		"one of another type":               {answer(func(r *v1alpha1.EvidenceRequest) { r.Type = v1alpha1.EvidenceEvents }), false},
		"the answer in another time zone":   {answer(func(r *v1alpha1.EvidenceRequest) { r.Expires = metav1.NewTime(r.Expires.In(time.FixedZone("x", 3600))) }), true},
		"an object of this name in a group": {answer(func(r *v1alpha1.EvidenceRequest) { r.Group = "" }), false},
	} {
		if got := AnswerTo(&a, list, test.answers) != nil; got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
