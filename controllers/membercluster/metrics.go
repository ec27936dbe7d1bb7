// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join/tokens"
)

// credentialsExpire is when the host's token for each member expires. The manager reports the time for an unreachable
// member, too: it cannot renew that member's token, so the token may expire.
var credentialsExpire = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "fairlead_member_credentials_expire_timestamp_seconds",
	Help: "When the host's token for a member ends, in seconds since 1970. It is about 30 days ahead while the token is renewed, or less if the member shortens tokens.",
}, []string{"member"})

// collectorTokenExpires is when the token of a member's collector expires. The member's Secret has that token beside
// the host's token. It has its own metric, because the manager may be able to renew only one of the two tokens.
var collectorTokenExpires = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "fairlead_member_collector_token_expire_timestamp_seconds",
	Help: "When the token of a member's collector inside the manager ends, in seconds since 1970. It is about 30 days ahead while the token is renewed, or less if the member shortens tokens.",
}, []string{"member"})

// renewalDue is when each token in a member's Secret is due for renewal. An alert needs it beside the expiry: a member's API server
// may issue tokens that are shorter than the alert's limit, and their expiry is always near.
var renewalDue = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "fairlead_member_token_renewal_due_timestamp_seconds",
	Help: "When the manager has to renew a token of a member, in seconds since 1970. It is in the past while the manager cannot renew the token. " +
		"account is fairlead-host or fairlead-collector.",
}, []string{"member", "account"})

// memberCondition has the conditions of each MemberCluster that are True or False.
var memberCondition = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "fairlead_member_condition",
	Help: "A condition of a MemberCluster: 1 if it is True, 0 if it is False. A condition that is Unknown has no series. " +
		"The conditions are Reachable, CredentialsValid, CollectorReady and Ready.",
}, []string{"member", "condition"})

// versionSkew tells whether the versions of a member and of the manager differ. The value is a direction and no label, so a member has one
// series, and its alert does not change when an upgrade of the manager changes the direction.
var versionSkew = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Name: "fairlead_member_version_skew",
	Help: "-1 if a member's CRDs or its collector are older than the manager, 1 if its collector is newer, 0 otherwise, also if a version is unknown or cannot be compared.",
}, []string{"member"})

// Metrics returns the metrics of this package. The package has registered them with controller-runtime's registry.
func Metrics() []prometheus.Collector {
	return []prometheus.Collector{credentialsExpire, collectorTokenExpires, renewalDue, memberCondition, versionSkew}
}

func init() { metrics.Registry.MustRegister(Metrics()...) } //nolint:gochecknoinits // packages register their metrics in init, as controller-runtime asks

// recordExpiry copies status.credentialsExpireTime of a member into the metric of the host's token.
func recordExpiry(mc *v1alpha1.MemberCluster) {
	if expires := mc.Status.CredentialsExpireTime; expires.IsZero() {
		forgetExpiry(mc.Name)
	} else {
		credentialsExpire.WithLabelValues(mc.Name).Set(float64(expires.Unix()))
	}
}

// recordTokens copies the expiry of the collector's token, and when each token is due for renewal, from a member's Secret into the
// metrics. secret is nil if the member has no Secret.
func recordTokens(name string, secret *corev1.Secret) {
	if secret == nil {
		secret = &corev1.Secret{}
	}
	if expires := tokens.CollectorTokenExpires(secret); expires.IsZero() {
		collectorTokenExpires.DeleteLabelValues(name)
	} else {
		collectorTokenExpires.WithLabelValues(name).Set(float64(expires.Unix()))
	}
	for account, due := range tokens.RenewalsDue(secret) {
		if due.IsZero() {
			renewalDue.DeleteLabelValues(name, account)
		} else {
			renewalDue.WithLabelValues(name, account).Set(float64(due.Unix()))
		}
	}
}

// recordConditions copies the conditions of a MemberCluster into the metric.
func recordConditions(mc *v1alpha1.MemberCluster) {
	for _, kind := range []string{v1alpha1.ConditionReachable, v1alpha1.ConditionCredentialsValid, v1alpha1.ConditionCollectorReady, v1alpha1.ConditionReady} {
		switch {
		case meta.IsStatusConditionTrue(mc.Status.Conditions, kind):
			memberCondition.WithLabelValues(mc.Name, kind).Set(1)
		case meta.IsStatusConditionFalse(mc.Status.Conditions, kind):
			memberCondition.WithLabelValues(mc.Name, kind).Set(0)
		default:
			memberCondition.DeleteLabelValues(mc.Name, kind)
		}
	}
}

// recordVersions compares the versions in the status of a MemberCluster with that of the manager, and records the result. The status keeps
// them during an outage, and so does the metric.
func recordVersions(mc *v1alpha1.MemberCluster, manager string) {
	skew := 0.0
	switch {
	case meta.IsStatusConditionTrue(mc.Status.Conditions, v1alpha1.ConditionMemberOutdated):
		skew = -1
	case mc.Spec.Collector != v1alpha1.CollectorHost && isOlder(manager, mc.Status.CollectorVersion):
		skew = 1
	}
	versionSkew.WithLabelValues(mc.Name).Set(skew)
}

// forgetMember removes all metrics of a member.
func forgetMember(name string) {
	forgetExpiry(name)
	recordTokens(name, nil)
	memberCondition.DeletePartialMatch(prometheus.Labels{"member": name})
	versionSkew.DeleteLabelValues(name)
}

// forgetExpiry removes the metric of the host's token for a member.
func forgetExpiry(name string) { credentialsExpire.DeleteLabelValues(name) }
