// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// BenchmarkLine makes the line of a member: healthy, with an object in trouble whose line stays, and with one whose message has changed.
func BenchmarkLine(b *testing.B) {
	crashed := func(restarts int) Member {
		return with(func(m *Member) {
			m.Status = judged(v1alpha1.ObjectStatus{Group: "apps", Kind: "Deployment", Name: "web", Health: v1alpha1.Degraded, Reason: "CrashLoopBackOff",
				Message: fmt.Sprintf("pod web-7d9f8b6c5-abcde: container app has crashed %d times: exit code 2; from its log: panic: cannot connect to postgres://web@db.shop.svc:5432/web: "+
					"no route to host; Available: 0/1", restarts)})
		})
	}
	was, is, well := crashed(6), crashed(7), wellMember("east")
	before, same := Line(&was, nil, now), Line(&is, nil, now)
	for name, test := range map[string]struct {
		m      Member
		before *v1alpha1.ClusterStatus
	}{
		"healthy": {well, nil}, "in trouble and unchanged": {is, &same}, "in trouble and changed": {is, &before},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Line(&test.m, test.before, now)
			}
		})
	}
}
