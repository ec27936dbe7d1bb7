// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/messages"
	"github.com/fairlead-dev/fairlead/internal/install/manifests"
)

// Status describes the state of the host part, the members and the wrappers. `hostctl status -o json` prints it as JSON.
type Status struct {
	// Healthy is true if there are no Problems.
	Healthy  bool     `json:"healthy"`
	Problems []string `json:"problems"`

	// ReadTime is the time at which hostctl read the status, by the clock of the host's API server. hostctl computes the
	// age of the manager's lease by this clock, because the clock of the user's machine may be wrong by more than
	// leaseValid.
	ReadTime metav1.Time `json:"readTime"`

	Endpoint          string `json:"endpoint"`
	KubernetesVersion string `json:"kubernetesVersion"`
	// Version is "" if Fairlead is not installed. It is also "" if it is not known, because `hostctl init` did not install the host and the
	// manager's image has no tag.
	Version string `json:"version,omitempty"`
	Image   string `json:"image,omitempty"`

	Manager  ManagerStatus `json:"manager"`
	Webhooks string        `json:"webhooks"` // "Answer", "not installed", the error, or "not asked: " and the right that the user lacks
	Members  []Group       `json:"members"`
	Wrappers []Group       `json:"wrappers"`
	// Clusters has the sums of the member counts of all wrappers. A member counts once for each wrapper that is placed on
	// it.
	Clusters ClusterSums `json:"clusters"`

	// unobserved has the names of the wrappers that the manager should have seen, and that have no status.
	unobserved []string
	// outdated has the names of the members whose condition MemberOutdated is True. Such a member can be Ready.
	outdated []string
	// formerManager says which manager led last, if Fairlead is not installed; "" if none has led.
	formerManager string
}

// WebhooksAnswer is the value of Status.Webhooks if the webhooks answer.
const WebhooksAnswer = "Answer"

// webhooksNotAsked is the beginning of Status.Webhooks if the user has no right to create wrappers, not even as a dry
// run. That is no sign that the webhooks fail, so judge does not add this to Problems.
const webhooksNotAsked = "not asked: "

// webhooksNotInstalled is the value of Status.Webhooks if Fairlead is not installed on the host. After `hostctl uninstall` the host still
// has the CRDs, so its API server accepts each test wrapper. The error about that would point at the network.
const webhooksNotInstalled = "not installed"

// ManagerStatus describes the manager's pods.
type ManagerStatus struct {
	Replicas int32 `json:"replicas"`
	Ready    int32 `json:"ready"`
	// Leader is the identity of the replica that holds the lease; "" if no replica holds it.
	Leader  string      `json:"leader,omitempty"`
	Renewed metav1.Time `json:"renewed,omitzero"`
	// Troubles tell why pods do not run.
	Troubles []string `json:"troubles,omitempty"`
}

// Group counts the members, or the wrappers, whose condition Ready has the same status and the same reason.
type Group struct {
	Ready  metav1.ConditionStatus `json:"ready"`
	Reason string                 `json:"reason"`
	Count  int                    `json:"count"`
	// Names has the names of the members or wrappers, ten at most.
	Names []string `json:"names"`
	// Message is the message of the condition Ready of the first member or wrapper.
	Message string `json:"message,omitempty"`
}

// ClusterSums has the sums of the member counts in the status of all wrappers.
type ClusterSums struct {
	Placed      int64 `json:"placed"`
	Updated     int64 `json:"updated"`
	Healthy     int64 `json:"healthy"`
	Progressing int64 `json:"progressing"`
	Degraded    int64 `json:"degraded"`
	Stalled     int64 `json:"stalled"`
	Held        int64 `json:"held"`
	Unreachable int64 `json:"unreachable"`
}

const maxNames = 10

// ReadStatus reads the state of a host. A problem of the host is part of the result, and not an error. ReadStatus returns
// an error only if it cannot read the state.
func ReadStatus(ctx context.Context, cfg *rest.Config) (*Status, error) {
	c, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	return readStatus(ctx, c)
}

func readStatus(ctx context.Context, c connection) (*Status, error) {
	found, err := c.discovery.ServerVersion()
	if err != nil {
		return nil, explain(err, c.endpoint)
	}
	h, err := readHost(ctx, c)
	if err != nil {
		return nil, explain(err, c.endpoint)
	}
	s := &Status{Endpoint: c.endpoint, KubernetesVersion: found.GitVersion, Version: h.version()}
	if err := s.readManager(ctx, c, h); err != nil {
		return nil, err
	}
	wrappers, members, err := readWrappers(ctx, c)
	if err != nil {
		return nil, err
	}
	s.ReadTime = metav1.NewTime(c.now())
	if s.Image != "" || s.Manager.leads(s.ReadTime.Time) || len(h.webhooks) > 0 {
		s.Webhooks = askWebhooks(ctx, c.Client)
	} else {
		// An uninstallation leaves the record of the version. A manager that was killed leaves a lease.
		if m := &s.Manager; m.Leader != "" {
			s.formerManager = fmt.Sprintf(". The last manager, %s, renewed its lease %s ago: if it runs outside the cluster, start it again",
				m.Leader, s.ReadTime.Sub(m.Renewed.Time).Round(time.Second))
		}
		s.Version, s.Manager, s.Webhooks = "", ManagerStatus{}, webhooksNotInstalled
	}
	s.group(wrappers, members)
	s.judge(s.ReadTime.Time)
	return s, nil
}

// askWebhooks returns the value of Status.Webhooks.
func askWebhooks(ctx context.Context, c client.Client) string {
	switch err := ProbeWebhooks(ctx, c); {
	case mayNotProbe(err):
		return webhooksNotAsked + clean(err.Error())
	case err != nil:
		return clean(err.Error())
	}
	return WebhooksAnswer
}

func (s *Status) readManager(ctx context.Context, c connection, h host) error {
	manager := h.manager()
	if manager == nil { // the manager runs outside the cluster, or no manager is installed
		return s.readLease(ctx, c)
	}
	if containers := manager.Spec.Template.Spec.Containers; len(containers) > 0 {
		s.Image = containers[0].Image
	}
	s.Manager.Replicas, s.Manager.Ready = 1, manager.Status.ReadyReplicas
	if manager.Spec.Replicas != nil {
		s.Manager.Replicas = *manager.Spec.Replicas
	}
	d, pods, err := readRollout(ctx, c)
	if err != nil {
		return fmt.Errorf("reading the manager's pods: %w", err)
	}
	for _, t := range troubles(d, pods) {
		s.Manager.Troubles = append(s.Manager.Troubles, t.text)
	}
	return s.readLease(ctx, c)
}

func (s *Status) readLease(ctx context.Context, c client.Reader) error {
	lease := &coordinationv1.Lease{}
	err := c.Get(ctx, client.ObjectKey{Namespace: systemNamespace, Name: manifests.Manager}, lease)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return forbidden(err, "reading the manager's lease")
	}
	if lease.Spec.HolderIdentity != nil {
		s.Manager.Leader = clean(*lease.Spec.HolderIdentity)
	}
	if lease.Spec.RenewTime != nil {
		s.Manager.Renewed = metav1.NewTime(lease.Spec.RenewTime.Time)
	}
	return nil
}

// group puts members and wrappers into groups by their condition Ready, and adds up the wrappers' member counts.
func (s *Status) group(wrappers []v1alpha1.Wrapper, members []v1alpha1.MemberCluster) {
	s.Members, s.Wrappers = []Group{}, []Group{}
	for i := range members {
		s.Members = into(s.Members, members[i].Status.Conditions, members[i].Name)
		if meta.IsStatusConditionTrue(members[i].Status.Conditions, v1alpha1.ConditionMemberOutdated) {
			s.outdated = append(s.outdated, clean(members[i].Name))
		}
	}
	for _, w := range wrappers {
		name := w.GetName()
		if w.GetNamespace() != "" {
			name = w.GetNamespace() + "/" + name
		}
		s.Wrappers = into(s.Wrappers, w.WrapperStatus().Conditions, name)
		isOld := s.ReadTime.Sub(w.GetCreationTimestamp().Time) > observedWithin
		if isOld && meta.FindStatusCondition(w.WrapperStatus().Conditions, v1alpha1.ConditionReady) == nil {
			s.unobserved = append(s.unobserved, clean(name))
		}
		counts := w.WrapperStatus().Counts
		for sum, n := range map[*int64]*int32{
			&s.Clusters.Placed: counts.Placed, &s.Clusters.Updated: counts.Updated, &s.Clusters.Healthy: counts.Healthy,
			&s.Clusters.Progressing: counts.Progressing, &s.Clusters.Degraded: counts.Degraded, &s.Clusters.Stalled: counts.Stalled,
			&s.Clusters.Held: counts.Held, &s.Clusters.Unreachable: counts.Unreachable,
		} {
			if n != nil {
				*sum += int64(*n)
			}
		}
	}
	// Groups that are not Ready come before those that are Ready. Within each of the two, larger groups come first.
	for _, groups := range [][]Group{s.Members, s.Wrappers} {
		slices.SortStableFunc(groups, func(a, b Group) int {
			if aTrue, bTrue := a.Ready == metav1.ConditionTrue, b.Ready == metav1.ConditionTrue; aTrue != bTrue {
				if aTrue {
					return 1
				}
				return -1
			}
			return b.Count - a.Count
		})
	}
}

// into adds an object to the group of its condition Ready. An object without that condition counts as Unknown.
func into(groups []Group, conditions []metav1.Condition, name string) []Group {
	ready := metav1.Condition{Status: metav1.ConditionUnknown, Reason: "NotObserved", Message: "the manager has written no status yet"}
	if c := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); c != nil {
		ready = *c
	}
	at := slices.IndexFunc(groups, func(g Group) bool { return g.Ready == ready.Status && g.Reason == ready.Reason })
	if at < 0 {
		at, groups = len(groups), append(groups, Group{Ready: ready.Status, Reason: clean(ready.Reason), Message: clean(ready.Message)})
	}
	groups[at].Count++
	if len(groups[at].Names) < maxNames {
		groups[at].Names = append(groups[at].Names, clean(name))
	}
	return groups
}

// leads reports whether a replica has renewed its lease in time.
func (m *ManagerStatus) leads(now time.Time) bool {
	return m.Leader != "" && now.Sub(m.Renewed.Time) <= leaseValid
}

// leaseValid is the largest age of a lease for which judge reports no problem. A leader renews the lease every few
// seconds.
const leaseValid = time.Minute

// observedWithin is the time after its creation within which the manager usually writes the first status of a wrapper, also after a
// restart of the manager.
const observedWithin = time.Minute

// judge sets Problems, and Healthy if there are none. A wrapper that is not Ready counts as a problem only if it is degraded or stalled on a member, or if the
// manager has written no status of it in time. A member that is outdated counts as a problem also if it is Ready: the manager may hold pushes to it.
func (s *Status) judge(now time.Time) {
	problem := func(format string, args ...any) { s.Problems = append(s.Problems, fmt.Sprintf(format, args...)) }
	s.Problems = []string{}
	if s.Webhooks == webhooksNotInstalled { // without a manager, the states of members and wrappers are old
		problem("Fairlead is not installed on this host: run `hostctl init`%s", s.formerManager)
		return
	}
	switch {
	case s.Image == "" && s.Manager.Leader == "":
		problem("no manager is installed: `hostctl init` installs it")
	case s.Image != "" && s.Manager.Replicas == 0:
		problem("the manager has 0 replicas")
	case s.Manager.Ready < s.Manager.Replicas:
		problem("%d of %d replicas of the manager are not ready", s.Manager.Replicas-s.Manager.Ready, s.Manager.Replicas)
	}
	for _, text := range s.Manager.Troubles {
		problem("%s", text)
	}
	switch {
	case s.Manager.Leader == "" && s.Image != "":
		problem("no replica of the manager holds the lease, so no wrapper is pushed")
	case s.Manager.Leader != "" && !s.Manager.leads(now):
		problem("the leader, %s, last renewed its lease %s ago, so no wrapper is pushed", s.Manager.Leader, now.Sub(s.Manager.Renewed.Time).Round(time.Second))
	}
	if s.Webhooks != WebhooksAnswer && !strings.HasPrefix(s.Webhooks, webhooksNotAsked) {
		problem("the webhooks do not answer, so the API server refuses new and changed wrappers, or does not check them: %s. Look at the manager's pods, and at firewalls and NetworkPolicies "+
			"between the API server and Service %s/%s; `hostctl init` repairs the webhook configurations", s.Webhooks, systemNamespace, manifests.Service)
	}
	for _, g := range s.Members {
		if g.Ready != metav1.ConditionTrue {
			problem("members: %d %s: %s", g.Count, g.Reason, strings.Join(g.Names, ", "))
		}
	}
	if len(s.outdated) > 0 {
		problem("members outdated: %s: run `hostctl join NAME --cluster-kubeconfig FILE` for each; `hostctl version` says what is outdated", messages.Few(s.outdated, maxNames))
	}
	if len(s.unobserved) > 0 {
		reason := ""
		if len(s.Problems) == 0 { // otherwise the problems above may be the reason
			reason = ". The manager cannot reconcile them, and its log has the reason"
		}
		problem("wrappers: without a status more than %.0f s after they were created: %s%s", observedWithin.Seconds(), messages.Few(s.unobserved, maxNames), reason)
	}
	if n := s.Clusters.Degraded + s.Clusters.Stalled; n > 0 {
		problem("wrappers: %d pairs of wrapper and cluster are degraded, or stalled until a person acts", n)
	}
	s.Healthy = len(s.Problems) == 0
}
