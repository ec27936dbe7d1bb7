// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// credentialsExpire is told also while a member is away, which is when its token is not renewed.
var credentialsExpire = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "fairlead_member_credentials_expire_timestamp_seconds",
	Help: "When the host's token for a member ends, in seconds since 1970. It is about 30 days ahead while the token is renewed.",
}, []string{"member"})

func init() { metrics.Registry.MustRegister(credentialsExpire) } //nolint:gochecknoinits // controller-runtime's registry is filled so

// measure tells the metrics what the status of a member says.
func recordExpiry(mc *v1alpha1.MemberCluster) {
	if expires := mc.Status.CredentialsExpireTime; expires.IsZero() {
		forgetExpiry(mc.Name)
	} else {
		credentialsExpire.WithLabelValues(mc.Name).Set(float64(expires.Unix()))
	}
}

// forgetExpiry forgets a member.
func forgetExpiry(name string) { credentialsExpire.DeleteLabelValues(name) }
