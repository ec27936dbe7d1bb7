// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/plain"
	"github.com/fairlead-dev/fairlead/internal/redirect"
)

// The timings of one probe. The time between two probes is in probebackoff.go.
const (
	// ProbeTimeout is how long an answer may take.
	ProbeTimeout = 10 * time.Second
	// HeartbeatTimeout is how old a collector's heartbeat may be. The collector renews it every 60 s.
	HeartbeatTimeout = 3 * time.Minute
	// aheadSteady is how far a measurement of the member's clock may differ from Ahead before Ahead changes.
	aheadSteady = time.Minute
)

// Host is the host of a member.
type Host struct {
	// UID is the uid of the host's kube-system namespace.
	UID types.UID
}

// ProbeResult is the result of the last probe of a member. The zero value means that there was none yet.
type ProbeResult struct {
	// Probed reports whether there was a probe at all.
	Probed bool
	// Reachable reports whether the API server gives answers that the manager can use. Valid reports whether it accepts
	// the host's credentials and belongs to the cluster that this host joined.
	Reachable, Valid bool
	// Ours reports whether the last Membership that a probe read is that of the cluster that this host joined. A probe
	// that reads no Membership leaves Ours unchanged, unless the member has none. If the Membership has a new uid, and
	// the probe cannot read the uid of kube-system, Ours is false: another cluster may have answered.
	Ours bool
	// Reason is one of the reasons of MemberCluster conditions. Message is a sentence for the on-call if there is a
	// problem.
	Reason, Message string
	// UID is the uid of the kube-system namespace of the cluster that answered last. That cluster need not be the
	// joined one. told is the uid of the Membership that the probe read together with UID.
	UID, told types.UID
	// Version is the version of the API server.
	Version string
	// Grants, NamespacePolicy, Facts, CollectorVersion and Heartbeat come from the Membership. Heartbeat is a time of
	// the member's clock.
	Grants           []string
	NamespacePolicy  v1alpha1.NamespacePolicy
	Facts            v1alpha1.MemberFacts
	CollectorVersion string
	Heartbeat        time.Time
	// CollectorRefused reports whether the member answered 401 to the last request of the collector inside the manager.
	// Then the member does not accept the token of the collector's account.
	CollectorRefused bool
	// HeartbeatChanged is when a probe last read a new heartbeat, by the host's clock. The clocks of host and member
	// need not agree.
	HeartbeatChanged time.Time
	// Ahead is how far the member's clock is ahead of the host's, negative if it is behind. It changes only when an
	// answer differs from it by more than a minute.
	Ahead time.Duration
}

// Usable reports whether pushes reach the member.
func (s ProbeResult) Usable() bool { return s.Reachable && s.Valid }

// settled reports whether the next probe can wait for the usual interval. It can if the member answers and its
// collector has written a heartbeat. A person who joins a member waits for that heartbeat.
func (s ProbeResult) settled() bool { return s.Usable() && !s.Heartbeat.IsZero() }

// Same reports whether two results look the same in the status. It ignores two differences: a new heartbeat, and the
// text of a network error, which differs from one try to the next.
func (s ProbeResult) Same(other ProbeResult) bool {
	return s.Probed == other.Probed && s.Reachable == other.Reachable && s.Valid == other.Valid && s.Reason == other.Reason &&
		s.UID == other.UID && s.Version == other.Version && s.CollectorVersion == other.CollectorVersion && s.CollectorRefused == other.CollectorRefused &&
		s.HeartbeatChanged.IsZero() == other.HeartbeatChanged.IsZero() && s.Ahead == other.Ahead &&
		s.NamespacePolicy == other.NamespacePolicy && slices.Equal(s.Grants, other.Grants) && reflect.DeepEqual(s.Facts, other.Facts)
}

// There converts a time of the host's clock to the member's clock. Use it to compare with times that the member's API
// server wrote, for example in tokens.
func (s ProbeResult) There(now time.Time) time.Time { return now.Add(s.Ahead) }

// probe asks the member for its identity. It returns no error: a failure is part of the result.
func (c *Conn) probe(ctx context.Context, host Host, last ProbeResult, now time.Time) ProbeResult {
	found := c.ask(ctx, host, last, now)
	if ahead := c.guard.skew.Ahead(); (ahead - last.Ahead).Abs() > aheadSteady {
		found.Ahead = ahead
	}
	return found
}

func (c *Conn) ask(ctx context.Context, host Host, last ProbeResult, now time.Time) ProbeResult {
	ctx, cancel := context.WithTimeout(ctx, ProbeTimeout)
	defer cancel()

	next := last
	next.Probed, next.Reachable, next.Valid, next.Reason, next.Message = true, false, false, "", ""

	membership := v1alpha1.Membership{}
	if err := c.get(ctx, &membership, "/apis", v1alpha1.Group, "v1alpha1", "memberships", v1alpha1.MembershipName); err != nil {
		return next.refused(c.name, c.config, err)
	}
	next.Reachable, next.Ours = true, false
	plain.Membership(&membership)
	if membership.Spec.Host.UID != host.UID {
		next.Reason = v1alpha1.ReasonOtherHost
		next.Message = fmt.Sprintf("this cluster belongs to host %[2]s (uid %[3]s), which knows it as %[4]s; this host writes nothing there. "+
			"To remove the member from this host, run `hostctl unjoin %[1]s --forget`. To move it to this host, unjoin it from the other host first, "+
			"or run `hostctl join %[1]s --cluster-kubeconfig FILE --take-over`",
			c.name, membership.Spec.Host.Name, membership.Spec.Host.UID, membership.Spec.ClusterName)
		return next
	}
	if membership.Spec.ClusterName != c.name {
		next.Reason = v1alpha1.ReasonIdentityChanged
		next.Message = fmt.Sprintf("the endpoint leads to the cluster that was joined as %s, not %s",
			membership.Spec.ClusterName, c.name)
		return next
	}
	if err := c.identify(ctx, membership.UID, &next); err != nil {
		return next.refused(c.name, c.config, err)
	}
	next.Grants, next.NamespacePolicy, next.Facts = membership.Spec.Grants, membership.Spec.NamespacePolicy, membership.Status.Facts
	next.CollectorVersion = membership.Status.CollectorVersion
	if renewed := membership.Status.RenewTime.Time; !renewed.Equal(next.Heartbeat) {
		next.Heartbeat, next.HeartbeatChanged = renewed, now
	}
	next.CollectorRefused = c.collector.refused.Load()
	next.Valid, next.Ours, next.Reason = true, true, v1alpha1.ReasonAnswers
	return next
}

// joinedAs compares a result with the uid of the joined cluster, which is "" while the host does not know it. It
// refuses another cluster, even if the Membership there is equal.
func (s ProbeResult) joinedAs(name string, uid types.UID) ProbeResult {
	if !s.Usable() || uid == "" || s.UID == uid {
		return s
	}
	s.Valid, s.Ours, s.Reason = false, false, v1alpha1.ReasonIdentityChanged
	s.Message = (&OtherClusterError{Name: name, Joined: uid, Found: s.UID}).Error()
	return s
}

// OtherClusterError is the error for an endpoint that leads to another cluster than the joined one.
type OtherClusterError struct {
	Name string
	// Joined is the uid of the joined cluster, Found the uid of the cluster that answers.
	Joined, Found types.UID
}

func (e *OtherClusterError) Error() string {
	return fmt.Sprintf("the endpoint leads to another cluster (its kube-system namespace has uid %[3]s) than was joined as %[1]s (uid %[2]s); "+
		"this host writes nothing there. Set spec.endpoint back to the joined cluster. Or, if the new cluster should replace it, "+
		"run `hostctl unjoin %[1]s --forget`, then `hostctl join %[1]s --cluster-kubeconfig FILE` with the kubeconfig of the new cluster", e.Name, e.Joined, e.Found)
}

// identify finds out which cluster answers. membership is the uid of the Membership that the probe has just read.
//
// identify reads the uid of kube-system again only when the uid of the Membership changes. Once for each connection
// would be too rare: behind a DNS name or a load balancer, another cluster may take over between two probes. Once for
// each probe is not needed. The API server gives every new object a new uid, also in a clone that was restored from a
// backup of manifests. So another cluster cannot show the same Membership, and every probe reads the Membership anyway.
// A probe of an unchanged member therefore costs one request. (A copy of etcd itself has the same uids throughout. No
// object in it could tell the two clusters apart.)
func (c *Conn) identify(ctx context.Context, membership types.UID, s *ProbeResult) error {
	if s.Version != "" && s.UID != "" && c.serverVersion() != "" && s.told == membership {
		return nil
	}
	version, err := c.ServerVersion(ctx)
	if err != nil {
		return err
	}
	uid, err := c.ClusterUID(ctx)
	if err != nil {
		return err
	}
	s.Version, s.UID, s.told = version, uid, membership
	return nil
}

// ClusterUID asks for the uid of the kube-system namespace, which identifies a cluster. The host's account may read it
// on every member.
func (c *Conn) ClusterUID(ctx context.Context) (types.UID, error) {
	system := metav1.PartialObjectMetadata{}
	if err := c.get(ctx, &system, "/api/v1/namespaces", metav1.NamespaceSystem); err != nil {
		return "", fmt.Errorf("reading the namespace kube-system of member %s: %w", c.name, err)
	}
	return plain.UID(system.UID), nil
}

func (c *Conn) get(ctx context.Context, into any, path ...string) error {
	answer, err := Do(ctx, c.rest.Get().AbsPath(path...), false)
	if err != nil {
		return err
	}
	return answer.Into(into)
}

// refused distinguishes an API server that does not answer from an API server that refuses the host.
func (s ProbeResult) refused(name string, config *rest.Config, err error) ProbeResult {
	if status := apierrors.APIStatus(nil); !errors.As(err, &status) {
		s.Reachable, s.Reason, s.Message = false, v1alpha1.ReasonUnreachable, unreachable(name, config, err)
		if elsewhere := (*redirect.Error)(nil); errors.As(err, &elsewhere) {
			s.Reason = v1alpha1.ReasonRedirected
		}
		return s
	}
	again := fmt.Sprintf("; run `hostctl join %s --cluster-kubeconfig FILE` again to repair that", name)
	switch {
	case apierrors.IsUnauthorized(err):
		s.Reachable, s.Reason = true, v1alpha1.ReasonUnauthorized
		s.Message = fmt.Sprintf("the member does not accept the host's credentials: they have expired or were revoked, or another host has taken it over; "+
			"run `hostctl join %s --cluster-kubeconfig FILE` again, which renews them or names that host", name)
	case apierrors.IsForbidden(err):
		s.Reachable, s.Reason = true, v1alpha1.ReasonForbidden
		s.Message = err.Error() + again
	case apierrors.IsNotFound(err):
		s.Reachable, s.Ours, s.Reason = true, false, v1alpha1.ReasonNotJoined
		s.Message = "the member has no Membership: it was unjoined, or the endpoint leads to another cluster" + again
	default:
		s.Reachable, s.Reason = false, v1alpha1.ReasonUnreachable
		s.Message = "the API server answers with an error: " + err.Error()
	}
	return s
}
