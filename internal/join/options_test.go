// SPDX-License-Identifier: Apache-2.0

package join

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/errortext"
)

func TestOptionsAreCheckedBeforeAnyClusterIsAsked(t *testing.T) {
	for name, tc := range map[string]struct {
		change  func(*Options)
		wantErr string
	}{
		"a name is enough":              {change: func(*Options) {}},
		"a name that is no DNS label":   {change: func(o *Options) { o.Name = "eu.1" }, wantErr: `"eu.1" is not a valid name for a member`},
		"no name":                       {change: func(o *Options) { o.Name = "" }, wantErr: "is not a valid name for a member"},
		"a host without a name":         {change: func(o *Options) { o.DefaultHostName = "" }, wantErr: "give --host-name"},
		"a host's name without an end":  {change: func(o *Options) { o.HostName = strings.Repeat("x", 254) }, wantErr: "253 characters at most"},
		"a policy that there is not":    {change: func(o *Options) { o.Namespaces = "Some" }, wantErr: "--namespaces Some: give Managed or All"},
		"a collector that there is not": {change: func(o *Options) { o.Collector = "Elsewhere" }, wantErr: "--collector Elsewhere: give Member, Host or External"},
		"an image that is none":         {change: func(o *Options) { o.MemberCollector.Image = "a b" }, wantErr: `--image: "a b" is not an image reference`},
		"a label's key":                 {change: func(o *Options) { o.Labels = map[string]string{"a b": "c"} }, wantErr: `label "a b"`},
		"a label's value":               {change: func(o *Options) { o.Labels = map[string]string{"a": "b c"} }, wantErr: `label a="b c"`},
		"a grant":                       {change: func(o *Options) { o.Allow = []string{"all"} }, wantErr: `--allow: unknown profile "all"`},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Name: "eu-1", DefaultHostName: "prod"}
			tc.change(&o)
			if diff := errortext.Diff(tc.wantErr, o.Validate()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadyCountsOnlyForTheRegistrationAsItIsNow(t *testing.T) {
	ready := func(generation int64) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: generation}}
	}
	for name, tc := range map[string]struct {
		conditions []metav1.Condition
		want       bool
	}{
		"nobody has judged it":  {},
		"an older registration": {conditions: ready(1)},
		"this one":              {conditions: ready(2), want: true},
	} {
		m := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: v1alpha1.MemberClusterStatus{Conditions: tc.conditions}}
		if got := judged(m) != nil; got != tc.want {
			t.Errorf("%s: want %t, got %t", name, tc.want, got)
		}
	}
}
