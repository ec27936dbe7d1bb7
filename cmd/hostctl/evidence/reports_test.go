// SPDX-License-Identifier: Apache-2.0

package evidence

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// A report names only its first 100 members. For each further member, the reason in the wrapper's status tells whether the report is
// about this member too.
func TestAReportIsAboutMembersThatItDoesNotName(t *testing.T) {
	w := build.Federated("web").In("shop").Obj()
	for name, reason := range map[string]string{"m-050": "CrashLoopBackOff", "m-120": "CrashLoopBackOff", "m-121": "QuotaExceeded", "a": "CrashLoopBackOff"} {
		w.Status.Clusters = append(w.Status.Clusters, v1alpha1.ClusterStatus{Name: name, State: v1alpha1.StateDegraded, Reason: reason})
	}
	var named []string
	for i := range 100 {
		named = append(named, fmt.Sprintf("m-%03d", i))
	}
	many := build.MemberReport(w, "1111111111", "Deployment", "web", "CrashLoopBackOff", named...)
	many.Status.ClusterCount = 130
	few := build.MemberReport(w, "2222222222", "Deployment", "web", "CrashLoopBackOff", "m-050")
	for name, test := range map[string]struct {
		report *v1alpha1.MemberReport
		chosen []string
		want   bool
	}{
		"without chosen members":                          {few, nil, true},
		"a member that it names":                          {few, []string{"x", "m-050"}, true},
		"a member of others":                              {few, []string{"m-120"}, false},
		"a member after the last name":                    {many, []string{"m-120"}, true},
		"a member after the last name, with other reason": {many, []string{"m-121"}, false},
		"a member before the last name":                   {many, []string{"a"}, false},
		"a member without a line":                         {many, []string{"z"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IsAbout(test.report, w, test.chosen); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if names, more := Others(many); len(names) != 99 || more != 30 {
		t.Errorf("%d other members with a name and %d without, want 99 and 30", len(names), more)
	}
	many.Status.Cluster = "m-125"
	if names, more := Others(many); len(names) != 100 || more != 29 || !IsCurrent(many) {
		t.Errorf("%d other members with a name and %d without, want 100 and 29; it is current: %v", len(names), more, IsCurrent(many))
	}
	few.Status.Cluster = "m-001"
	if names, more := Others(few); len(names) != 1 || more != 0 || IsCurrent(few) {
		t.Errorf("the member has become healthy: %v %d %v", names, more, IsCurrent(few))
	}
}

// Persons can create many more reports with a request than the ten reports that the manager writes. Reports must leave them out,
// because their objects may be healthy.
func TestAnswersToRequestsAreNoTrouble(t *testing.T) {
	w := build.Federated("web").In("shop").Obj()
	w.UID = "u"
	objects := []client.Object{build.MemberReport(w, "1111111111", "Deployment", "web", "CrashLoopBackOff", "eu-1")}
	for i := range 20 {
		asked := build.MemberReport(w, "x", "Deployment", "cache", v1alpha1.ReasonAnswered, "eu-1")
		asked.Name, asked.Spec.Request = fmt.Sprintf("web-abcd%02d", i), v1alpha1.EvidenceLogs
		objects = append(objects, asked)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	reports, err := Reports(t.Context(), fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), w)
	if err != nil || len(reports) != 1 || reports[0].Status.Object.Name != "web" {
		t.Errorf("%v: %+v", err, reports)
	}
}
