// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
)

// credentialsExpire is reported also while a member is unreachable: the manager cannot renew its token then.
var credentialsExpire = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "fairlead_member_credentials_expire_timestamp_seconds",
	Help: "When the host's token for a member ends, in seconds since 1970. It is about 30 days ahead while the token is renewed.",
}, []string{"member"})

// collectorTokenExpires is for the second token in the member's Secret. The manager may be able to renew only one of
// the two.
var collectorTokenExpires = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "fairlead_member_collector_token_expire_timestamp_seconds",
	Help: "When the token of a member's collector inside the manager ends, in seconds since 1970. It is about 30 days ahead while the token is renewed.",
}, []string{"member"})

func init() { metrics.Registry.MustRegister(credentialsExpire, collectorTokenExpires) } //nolint:gochecknoinits // packages register their metrics in init, as controller-runtime asks

// recordExpiry copies the expiry from the status of a member into the metrics.
func recordExpiry(mc *v1alpha1.MemberCluster) {
	if expires := mc.Status.CredentialsExpireTime; expires.IsZero() {
		forgetExpiry(mc.Name)
	} else {
		credentialsExpire.WithLabelValues(mc.Name).Set(float64(expires.Unix()))
	}
}

// recordCollectorExpiry copies the expiry of the collector's token from a member's Secret into the metrics. secret is
// nil if there is no Secret.
func recordCollectorExpiry(name string, secret *corev1.Secret) {
	if secret != nil {
		if expires := join.CollectorTokenExpires(secret); !expires.IsZero() {
			collectorTokenExpires.WithLabelValues(name).Set(float64(expires.Unix()))
			return
		}
	}
	collectorTokenExpires.DeleteLabelValues(name)
}

// forgetExpiry removes the metric of a member.
func forgetExpiry(name string) { credentialsExpire.DeleteLabelValues(name) }
