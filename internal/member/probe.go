// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/plain"
)

// The timings of one probe. The time between two probes is in probebackoff.go.
const (
	// ProbeTimeout is how long all requests of one probe may take together.
	ProbeTimeout = 10 * time.Second
	// HeartbeatTimeout is the age from which a collector's heartbeat is too old. The collector renews it every 60 s.
	HeartbeatTimeout = 3 * time.Minute
	// aheadSteady is the largest difference between ProbeResult.Ahead and a new measurement of the member's clock that does
	// not change Ahead. So small differences do not change the status.
	aheadSteady = time.Minute
)

// Host identifies the host to which a usable member belongs.
type Host struct {
	// UID is the uid of the host's kube-system namespace.
	UID types.UID
}

// ProbeResult is the result of the last probe of a member. The zero value means that no probe has ended yet.
type ProbeResult struct {
	// Probed reports whether a probe has ended.
	Probed bool
	// Reachable reports whether the API server answers, and the manager can use the answers.
	Reachable bool
	// Valid reports whether the API server accepts the host's credentials and belongs to the cluster that this host joined.
	Valid bool
	// Ours reports whether the last Membership that a probe read belongs to the cluster that this host joined. It is false
	// if the member has no Membership. It is also false if the Membership has a new uid and the probe cannot read the uid of
	// kube-system, because another cluster may have answered. If the read of the Membership fails in any other way, for
	// example by a timeout, Ours keeps its value.
	Ours bool
	// Reason is one of the reasons of MemberCluster conditions. It is ReasonUnreachable for each kind of network error, so
	// that the lines of wrappers do not change when the kind of the error changes.
	Reason string
	// Failure is the reason of the condition Reachable while Reachable is false: ReasonRedirected, ReasonUnreachable, or the
	// kind of the network error. It is "" while Reachable is true.
	Failure string
	// other is a failure that the last probes have found in place of the first failure of the outage (see steady).
	other otherFailure
	// Message describes a problem to the person on call; "" if the probe found no problem.
	Message string
	// UID is the uid of the kube-system namespace of the cluster that answered last, even if that is not the joined
	// cluster.
	UID types.UID
	// told is the uid of the Membership at the time when a probe last read the field UID from the member. A probe reads UID
	// again when the Membership has another uid (see identify).
	told types.UID
	// Version is the version of the API server.
	Version string
	// Grants is the list spec.grants of the Membership.
	Grants []string
	// NamespacePolicy is spec.namespacePolicy of the Membership; "" if the field is empty.
	NamespacePolicy v1alpha1.NamespacePolicy
	// Facts are status.facts of the Membership.
	Facts v1alpha1.MemberFacts
	// CollectorVersion is status.collectorVersion of the Membership; "" if no collector has written it.
	CollectorVersion string
	// Heartbeat is status.renewTime of the Membership, by the member's clock; zero if no collector has written it.
	Heartbeat time.Time
	// CollectorRefused reports whether the member answered 401 to the last request of the collector inside the manager.
	// The member then does not accept the token of the collector's account.
	CollectorRefused bool
	// CollectorForbidden reports whether the member answered 403 to the last heartbeat of the collector inside the manager.
	CollectorForbidden bool
	// CollectorSilent reports whether no new heartbeat has come for HeartbeatTimeout, although the member was usable during
	// that whole time. The time before does not count: a collector inside the manager cannot write a heartbeat while the
	// manager does not reach the member.
	CollectorSilent bool
	// usableSince is the time at which the probes began to find the member usable; zero if the last probe found it not
	// usable.
	usableSince time.Time
	// HeartbeatChanged is the time at which a probe last read a new heartbeat. It is by the host's clock, because the
	// member's clock may be wrong. It is zero before the first heartbeat.
	HeartbeatChanged time.Time
	// Ahead is how far the member's clock is ahead of the host's clock, negative if it is behind. It changes only when a
	// measurement differs from it by more than aheadSteady.
	Ahead time.Duration
}

// Usable reports whether the manager may push to the member: its API server answers, accepts the host's credentials,
// and belongs to the joined cluster.
func (s ProbeResult) Usable() bool { return s.Reachable && s.Valid }

// settled reports whether the next probe can wait for ProbeInterval: the member is usable, and its collector has written a
// heartbeat. Before the first heartbeat the manager probes more often, because `hostctl join` waits for the heartbeat.
func (s ProbeResult) settled() bool { return s.Usable() && !s.Heartbeat.IsZero() }

// Same reports whether two results lead to the same status of the MemberCluster. It ignores a newer heartbeat. While the
// member is not reachable, it compares the messages too: they are steady (see ProbeResult.steady).
func (s ProbeResult) Same(other ProbeResult) bool {
	return s.Probed == other.Probed && s.Reachable == other.Reachable && s.Valid == other.Valid && s.Reason == other.Reason && s.Failure == other.Failure &&
		(s.Failure == "" || s.Message == other.Message) && s.UID == other.UID && s.Version == other.Version && s.CollectorVersion == other.CollectorVersion &&
		s.CollectorRefused == other.CollectorRefused && s.CollectorForbidden == other.CollectorForbidden && s.CollectorSilent == other.CollectorSilent &&
		s.HeartbeatChanged.IsZero() == other.HeartbeatChanged.IsZero() && s.Ahead == other.Ahead &&
		s.NamespacePolicy == other.NamespacePolicy && slices.Equal(s.Grants, other.Grants) && reflect.DeepEqual(s.Facts, other.Facts)
}

// There converts a time by the host's clock to the same time by the member's clock. Use it before you compare a time of
// the host with a time that the member's API server wrote, for example in a token.
func (s ProbeResult) There(now time.Time) time.Time { return now.Add(s.Ahead) }

// prober makes the probes of one connection.
type prober struct {
	name      string
	config    *rest.Config
	rest      rest.Interface
	guard     *guard
	collector *collectorBearer
	// version is the API server's version; nil until a probe has read it.
	version atomic.Pointer[string]
}

// probe reads the Membership and, if necessary, the uid and the version of the cluster. It returns no error, because
// the result also describes a failure.
func (p *prober) probe(ctx context.Context, host Host, last ProbeResult, now time.Time) ProbeResult {
	found := p.ask(ctx, host, last, now)
	if ahead := p.guard.skew.Ahead(); (ahead - last.Ahead).Abs() > aheadSteady {
		found.Ahead = ahead
	}
	return found.steady(last, now)
}

func (p *prober) ask(ctx context.Context, host Host, last ProbeResult, now time.Time) ProbeResult {
	tries := &attempts{}
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, attemptsKey{}, tries), ProbeTimeout)
	defer cancel()

	next := last
	next.Probed, next.Reachable, next.Valid, next.Failure, next.Reason, next.Message = true, false, false, "", "", ""

	membership := v1alpha1.Membership{}
	if err := get(ctx, p.rest, &membership, "/apis", v1alpha1.Group, "v1alpha1", "memberships", v1alpha1.MembershipName); err != nil {
		return next.refused(p.name, p.config, tries.cause(err), now)
	}
	next.Reachable, next.Ours = true, false
	plain.Membership(&membership)
	if membership.Spec.Host.UID != host.UID {
		next.Reason = v1alpha1.ReasonOtherHost
		next.Message = fmt.Sprintf("this cluster belongs to host %[2]s (uid %[3]s), which knows it as %[4]s; this host writes nothing there. "+
			"To remove the member from this host, run `hostctl unjoin %[1]s --forget`. To move it to this host, unjoin it from the other host first, "+
			"or run `hostctl join %[1]s --cluster-kubeconfig FILE --take-over`",
			p.name, membership.Spec.Host.Name, membership.Spec.Host.UID, membership.Spec.ClusterName)
		return next
	}
	if membership.Spec.ClusterName != p.name {
		next.Reason = v1alpha1.ReasonIdentityChanged
		next.Message = fmt.Sprintf("the endpoint leads to the member %s, not to %s: set spec.endpoint back to the URL of the right cluster",
			membership.Spec.ClusterName, p.name)
		return next
	}
	if err := p.identify(ctx, membership.UID, &next); err != nil {
		return next.refused(p.name, p.config, tries.cause(err), now)
	}
	next.Grants, next.NamespacePolicy, next.Facts = membership.Spec.Grants, membership.Spec.NamespacePolicy, membership.Status.Facts
	next.CollectorVersion = membership.Status.CollectorVersion
	if renewed := membership.Status.RenewTime.Time; !renewed.Equal(next.Heartbeat) {
		next.Heartbeat, next.HeartbeatChanged = renewed, now
	}
	next.CollectorRefused, next.CollectorForbidden = p.collector.refused.Load(), p.collector.forbidden.Load()
	next.Valid, next.Ours, next.Reason = true, true, v1alpha1.ReasonAnswers
	next.usableSince = now
	if last.Usable() && !last.usableSince.IsZero() {
		next.usableSince = last.usableSince
	}
	next.CollectorSilent = !next.Heartbeat.IsZero() && min(now.Sub(next.HeartbeatChanged), now.Sub(next.usableSince)) > HeartbeatTimeout
	return next
}

// joinedAs returns the result for the joined cluster, whose kube-system namespace has the given uid. If another cluster
// answered, the returned result is not usable, even if that cluster has an equal Membership. If uid is "", the host
// does not know the uid yet, and joinedAs accepts any cluster.
func (s ProbeResult) joinedAs(name string, uid types.UID) ProbeResult {
	if !s.Usable() || uid == "" || s.UID == uid {
		return s
	}
	s.Valid, s.Ours, s.Reason = false, false, v1alpha1.ReasonIdentityChanged
	s.Message = (&OtherClusterError{Name: name, Joined: uid, Found: s.UID}).Error()
	return s
}

// OtherClusterError tells that an endpoint leads to another cluster than the one that joined.
type OtherClusterError struct {
	Name string
	// Joined is the uid of the joined cluster.
	Joined types.UID
	// Found is the uid of the cluster that answers.
	Found types.UID
}

func (e *OtherClusterError) Error() string {
	return fmt.Sprintf("the endpoint leads to another cluster (its kube-system namespace has uid %[3]s) than was joined as %[1]s (uid %[2]s); "+
		"this host writes nothing there. Set spec.endpoint back to the joined cluster. Or, if the new cluster should replace it, "+
		"run `hostctl unjoin %[1]s --forget`, then `hostctl join %[1]s --cluster-kubeconfig FILE` with the kubeconfig of the new cluster", e.Name, e.Joined, e.Found)
}

// identify finds out which cluster answers. membership is the uid of the Membership that the probe has just read.
//
// identify reads the uid of kube-system only when the uid of the Membership has changed:
//   - One read for each connection would not be enough. Behind a DNS name or a load balancer, another cluster may take
//     the address between two probes.
//   - One read for each probe is not needed. Every probe reads the Membership, and another cluster's Membership has another
//     uid. An API server gives every new object a new uid, even in a clone that was restored from a backup of manifests.
//
// So a probe of an unchanged member costs one request. A cluster that was restored from a copy of etcd has the same
// uids in all objects, so no uid can tell it from the original.
func (p *prober) identify(ctx context.Context, membership types.UID, s *ProbeResult) error {
	if s.Version != "" && s.UID != "" && p.hasVersion() && s.told == membership {
		return nil
	}
	stated, err := p.serverVersion(ctx)
	if err != nil {
		return err
	}
	uid, err := clusterUID(ctx, p.rest, p.name)
	if err != nil {
		return err
	}
	s.Version, s.UID, s.told = stated, uid, membership
	return nil
}

// serverVersion reads the version of the member's API server, for example v1.36.3.
func (p *prober) serverVersion(ctx context.Context) (string, error) {
	answer, err := Do(ctx, p.rest.Get().AbsPath("/version"), false)
	if err != nil {
		return "", fmt.Errorf("reading the version of member %s: %w", p.name, err)
	}
	info := version.Info{}
	if err := answer.Into(&info); err != nil {
		return "", fmt.Errorf("reading the version of member %s: %w", p.name, err)
	}
	stated := plain.Version(info.GitVersion)
	p.version.Store(&stated)
	return stated, nil
}

// hasVersion reports whether a probe of this connection has read the API server's version.
func (p *prober) hasVersion() bool {
	v := p.version.Load()
	return v != nil && *v != ""
}

// refused returns the result of a probe that failed with err. Reason tells whether the member does not answer, or
// answers and refuses the host.
func (s ProbeResult) refused(name string, config *rest.Config, err error, now time.Time) ProbeResult {
	again := fmt.Sprintf("; run `hostctl join %s --cluster-kubeconfig FILE` again to repair that", name)
	switch {
	case apierrors.IsUnauthorized(err):
		s.Reachable, s.Reason = true, v1alpha1.ReasonUnauthorized
		s.Message = fmt.Sprintf("the member does not accept the host's credentials: they have expired or were revoked, or another host has taken the member over; "+
			"run `hostctl join %s --cluster-kubeconfig FILE` again, which renews them or names that host", name)
	case apierrors.IsForbidden(err):
		s.Reachable, s.Reason = true, v1alpha1.ReasonForbidden
		s.Message = health.Tidy(err.Error(), maxQuoted) + again
	case apierrors.IsNotFound(err):
		s.Reachable, s.Ours, s.Reason = true, false, v1alpha1.ReasonNotJoined
		s.Message = "the member has no Membership: it was unjoined, or the endpoint leads to another cluster" + again
	default:
		is := classify(name, config, err, now)
		s.Reachable, s.Reason, s.Failure, s.Message = false, v1alpha1.ReasonUnreachable, is.reason, is.message
		if is.reason == v1alpha1.ReasonRedirected {
			s.Reason = v1alpha1.ReasonRedirected
		}
	}
	return s
}
