// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestTheReportIsBesideTheWrapperAndOwnedByIt(t *testing.T) {
	long := strings.Repeat("x", 239) + ".y" + strings.Repeat("z", 12)
	cluster := &v1alpha1.ClusterFederated{}
	cluster.Name, cluster.UID = "fast", "u"
	deleted := build.Federated("web").In("shop").Obj()
	deleted.Finalizers = []string{metav1.FinalizerDeleteDependents}
	for name, test := range map[string]struct {
		w                   v1alpha1.Wrapper
		namespace, generate string
		owners              int
	}{
		"a Federated":                   {build.Federated("web").In("shop").Obj(), "shop", "web-", 1},
		"a ClusterFederated":            {cluster, v1alpha1.SystemNamespace, "fast-", 1},
		"one whose dependents go first": {deleted, "shop", "web-", 0},
		"one with a long name":          {build.Federated(long).In("shop").Obj(), "shop", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := (&Request{Wrapper: test.w, Type: v1alpha1.EvidenceEvents}).report(Subject{Cluster: "east"}, now)
			if problems := validation.IsDNS1123Subdomain(r.GenerateName + "x7k2p"); len(problems) > 0 || test.generate != "" && r.GenerateName != test.generate {
				t.Errorf("%q: %v", r.GenerateName, problems)
			}
			if r.Namespace != test.namespace || len(r.OwnerReferences) != test.owners || r.Spec.Wrapper.Name != test.w.GetName() || r.Spec.SinceSeconds != 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestSinceIsInWholeSeconds(t *testing.T) {
	for d, want := range map[time.Duration]int32{0: 0, 1: 1, time.Second: 1, time.Second + 1: 2, 5 * time.Minute: 300, 1<<63 - 1: 1<<31 - 1} {
		if got := seconds(d); got != want {
			t.Errorf("%s: got %d, want %d", d, got, want)
		}
	}
}

func TestWhichMembersAreAsked(t *testing.T) {
	var many []string
	for i := range 9 {
		many = append(many, fmt.Sprintf("m-%d", i))
	}
	for name, test := range map[string]struct {
		placed, chosen []string
		want, says     string
	}{
		"all":                      {placed: []string{"b", "a"}, want: "a b"},
		"the chosen ones":          {placed: many, chosen: []string{"m-3", "m-1", "m-3"}, want: "m-1 m-3"},
		"the most":                 {placed: many[:8], want: strings.Join(many[:8], " ")},
		"too many":                 {placed: many, says: "Federated shop/web is placed on 9 members, and hostctl asks at most 8 at a time: name them with --cluster, for example --cluster m-0"},
		"too many that are chosen": {placed: many, chosen: many, says: "--cluster names 9 members, and hostctl asks at most 8 at a time: name fewer"},
		"none":                     {says: "Federated shop/web is placed on no member, so there is no member to ask"},
	} {
		t.Run(name, func(t *testing.T) {
			w := build.Federated("web").In("shop").Obj()
			w.Status.Placement.Clusters = test.placed
			got, err := Members(w, test.chosen)
			if strings.Join(got, " ") != test.want || (err != nil) != (test.says != "") || err != nil && (err.Error() != test.says || exit.CodeOf(err) != exit.Usage) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func TestTheObjectOfTheFlag(t *testing.T) {
	w := build.Federated("web").In("shop").With(build.ConfigMap("settings"),
		build.Manifest(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}`),
		build.Manifest(`{apiVersion: one.org/v1, kind: Service, metadata: {name: web}}`),
		build.Manifest(`{apiVersion: v1, kind: Service, metadata: {name: web}}`),
		build.Manifest(`{apiVersion: v1, kind: Secret, metadata: {name: key}}`)).Obj()
	for text, test := range map[string]struct {
		want v1alpha1.ReportedObject
		says string
	}{
		"Deployment/web":       {want: v1alpha1.ReportedObject{Group: "apps", Kind: "Deployment", Name: "web"}},
		"deployment/web":       {want: v1alpha1.ReportedObject{Group: "apps", Kind: "Deployment", Name: "web"}},
		"Deployment.apps/web":  {want: v1alpha1.ReportedObject{Group: "apps", Kind: "Deployment", Name: "web"}},
		"ConfigMap/settings":   {want: v1alpha1.ReportedObject{Kind: "ConfigMap", Name: "settings"}},
		"Service.one.org/web":  {want: v1alpha1.ReportedObject{Group: "one.org", Kind: "Service", Name: "web"}},
		"Service./web":         {want: v1alpha1.ReportedObject{Kind: "Service", Name: "web"}},
		"Service/web":          {says: "has 2 such objects; give the group too: Service.one.org/web or Service./web"},
		"Deployment/Web":       {says: "has no such object; it has ConfigMap/settings, Deployment/web, Secret/key, Service/web"},
		"Deployment.batch/web": {says: "has no such object"},
		"Secret/key":           {says: "collectors read no Secrets"},
		"web":                  {says: "give KIND/NAME, for example Deployment/web"},
		"Deployment/":          {says: "give KIND/NAME"},
	} {
		t.Run(text, func(t *testing.T) {
			got, err := Object(w, text)
			if diff := cmp.Diff(test.want, got); diff != "" || (err != nil) != (test.says != "") {
				t.Fatalf("%v, object (-want +got):\n%s", err, diff)
			}
			if err != nil && (!strings.HasPrefix(err.Error(), "--object "+text+": ") || !strings.Contains(err.Error(), test.says) || exit.CodeOf(err) != exit.Usage) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
}

func TestWhyARequestIsGone(t *testing.T) {
	for name, test := range map[string]struct {
		created, expires, now time.Duration // after the time of this machine at the start
		says                  string
		expired               bool
	}{
		"another client deleted it": {0, time.Hour, time.Minute, "the MemberReport web-x with the request was deleted: run the command again to ask again", false},
		"the hour is over":          {0, time.Hour, time.Hour, "the request has expired: run the command again to go on", true},
		"this machine is behind":    {6 * time.Minute, 5 * time.Minute, 0, "the request has expired: the clock of this machine is 6m0s behind the clock of the host: correct the clock of this machine", false},
		"this machine is ahead":     {-time.Hour, 5 * time.Minute, time.Second, "the MemberReport web-x with the request was deleted: run", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &v1alpha1.MemberReport{ObjectMeta: metav1.ObjectMeta{Name: "web-x", CreationTimestamp: metav1.NewTime(now.Add(test.created))},
				Spec: v1alpha1.MemberReportSpec{Cluster: "east", Expires: metav1.NewTime(now.Add(test.expires))}}
			p := gone(r, now.Add(test.now))
			if !strings.HasPrefix(p.Message, test.says) || p.expired != test.expired || !p.ends {
				t.Errorf("%+v", p)
			}
		})
	}
}

// The manager ends each request after an hour. If all requests have ended in this way, a command that follows the answers has done its
// work. Any other end is a failure.
func TestWhenACommandEnds(t *testing.T) {
	over, failed := &Problem{outlook: outlook{ends: true, expired: true}}, &Problem{outlook: outlook{ends: true}}
	for name, test := range map[string]struct {
		latest []*Problem
		ends   bool
		code   int
	}{
		"an answer":                  {[]*Problem{over, nil}, false, exit.Done},
		"a member that may answer":   {[]*Problem{over, {}}, false, exit.Done},
		"the hour":                   {[]*Problem{over, over}, true, exit.Done},
		"the hour, and a failure":    {[]*Problem{over, failed}, true, exit.Failed},
		"a failure, and the hour":    {[]*Problem{failed, over}, true, exit.Failed},
		"a failure, and a late hour": {[]*Problem{failed, nil}, false, exit.Done},
	} {
		latest := make(map[Subject]*Problem)
		for i, p := range test.latest {
			latest[Subject{Cluster: fmt.Sprint(i)}] = p
		}
		if ends, err := outcome(latest); ends != test.ends || exit.CodeOf(err) != test.code {
			t.Errorf("%s: %v, %v", name, ends, err)
		}
	}
}
