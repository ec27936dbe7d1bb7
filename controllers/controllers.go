// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/evidencerequest"
	"github.com/fairlead-dev/fairlead/controllers/federated"
	"github.com/fairlead-dev/fairlead/controllers/federated/revisions"
	"github.com/fairlead-dev/fairlead/controllers/membercluster"
	"github.com/fairlead-dev/fairlead/controllers/memberreport"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/internal/admission"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/lease"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push"
	"github.com/fairlead-dev/fairlead/internal/tracing"
)

// Options are the manager's own settings. They supplement ctrl.Options.
type Options struct {
	// Version is the version of the manager. The manager sends it to members in the header User-Agent. A collector
	// inside the manager also writes it to the Membership.
	Version string
	// MaxInflight is the largest number of pushes to one member at the same time (see inflight.Limit). A collector
	// inside the manager has the same limit for its own work on that member. 0 means inflight.Most.
	MaxInflight int
	// SharesIntents makes new wrappers that wait at a member share the write of their intents (package push/intents).
	SharesIntents bool
	// ReinstallsOperators lets spec.upgrade.rollback: Reinstall remove operators on members. Without it, the manager begins no
	// reinstall.
	ReinstallsOperators bool
	// MemberReportsMemory is how many bytes of memory the evidence of all members may take. It thereby also bounds the
	// MemberReports in etcd. One member may take an eighth of it. 0 means memberreport.DefaultMemory.
	MemberReportsMemory int
	// Predecessor proves to a new leader that the previous manager has ended. With such a proof, the new leader does
	// not wait until the lease has expired. With the zero Proof it waits.
	Predecessor lease.Proof
	// Tracer makes traces; nil if tracing is off.
	Tracer *tracing.Tracer
	// Clock is the clock of all loops. Tests set a fake clock.
	Clock clock.WithTicker
}

// CacheOptions limit what the manager caches of the host. Of all Secrets, it caches only those in namespace
// fairlead-system, where the credentials of the members are.
func CacheOptions() cache.Options {
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Namespaces: map[string]cache.Config{v1alpha1.SystemNamespace: {}}},
		},
	}
}

// NewManager makes the host's manager with all its loops.
func NewManager(ctx context.Context, config *rest.Config, options ctrl.Options, o Options) (mcmanager.Manager, error) {
	host, seal, history, err := identify(ctx, config)
	if err != nil {
		return nil, err
	}
	options.Scheme = member.Scheme
	options.Cache = CacheOptions()
	limits := []member.FleetOption{member.WithMaxInflight(o.MaxInflight)}
	if options.LeaderElection {
		guard, err := lease.NewGuard(config, &options, lease.Default(), o.Predecessor, o.Clock)
		if err != nil {
			return nil, err
		}
		limits = append(limits, member.WithWriteFence(guard))
	}
	fleet := member.NewFleet(host, o.Clock, limits...)
	mgr, err := mcmanager.New(config, fleet, options)
	if err != nil {
		return nil, fmt.Errorf("making the host's manager: %w", err)
	}
	local := mgr.GetLocalManager()

	var loops []*federated.Reconciler
	store := deliveries.NewStore(o.Clock)
	wake := func(key deliveries.Key) {
		for _, loop := range loops {
			loop.Wake(key)
		}
	}
	var registry *membercluster.Reconciler
	observes := func(memberName string) bool { return registry.Observes(memberName) }
	pusher := push.New(fleet, store, o.Clock,
		push.Host{SealKey: seal, UID: host.UID, Labels: namespaceLabels(local.GetAPIReader()), Observes: observes, SharesIntents: o.SharesIntents,
			ReinstallsOperators: o.ReinstallsOperators, Tracer: o.Tracer}, wake)
	store.OnNews(wake)
	orphans := deliveries.NewOrphans(store, pusher.Desired, func(memberName string) { registry.Tell(memberName) })
	shared := federated.Dependencies{Fleet: fleet, Deliveries: store, Orphans: orphans, Pusher: pusher, History: history, ReinstallsOperators: o.ReinstallsOperators,
		Clock: o.Clock, Tracer: o.Tracer}
	for _, kind := range []v1alpha1.WrapperKind{v1alpha1.KindFederated, v1alpha1.KindClusterFederated} {
		loop := federated.New(kind, local, shared)
		if err := loop.SetupWithManager(local); err != nil {
			return nil, err
		}
		loops = append(loops, loop)
	}
	registry = membercluster.New(local, fleet, orphans, host, o.Version, o.MaxInflight, o.Clock)
	if err := errors.Join(
		registry.SetupWithManager(local),
		memberreport.New(local, store, o.Clock, o.MemberReportsMemory).SetupWithManager(local),
		evidencerequest.New(local, store, pusher.Requests(), o.Clock).SetupWithManager(local),
	); err != nil {
		return nil, err
	}
	for _, once := range []manager.Runnable{federated.NewWrapperIndex(local.GetCache(), orphans, loops...), revisions.NewHistory(local, history)} {
		if err := local.Add(once); err != nil {
			return nil, fmt.Errorf("adding %T to the manager: %w", once, err)
		}
	}
	ready := healthz.Ping
	if options.WebhookServer != nil {
		admission.Register(local.GetWebhookServer(), admission.MembersOf(local.GetClient()), history, o.ReinstallsOperators)
		ready = local.GetWebhookServer().StartedChecker()
	}
	if err := errors.Join(local.AddHealthzCheck("ping", healthz.Ping), local.AddReadyzCheck("webhooks", ready)); err != nil {
		return nil, fmt.Errorf("adding health checks: %w", err)
	}
	for _, aware := range []mcmanager.Runnable{pusher, registry.Collectors()} {
		if err := mgr.Add(aware); err != nil {
			return nil, fmt.Errorf("adding %T to the manager: %w", aware, err)
		}
	}
	return mgr, nil
}

// namespaceLabels returns a function that reads the labels of a namespace from the host's API server at each call. It
// uses no cache, because a cache would keep all namespaces of the host in memory. The manager needs the labels only
// before it creates that namespace on a member.
func namespaceLabels(host client.Reader) push.HostLabels {
	return func(ctx context.Context, name string) (map[string]string, error) {
		found := &metav1.PartialObjectMetadata{}
		found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
		err := host.Get(ctx, client.ObjectKey{Name: name}, found)
		return found.Labels, err
	}
}

// identify reads the host's uid, the key that seals Deliveries, and the key that encrypts revisions.
func identify(ctx context.Context, config *rest.Config) (member.Host, []byte, *revision.HistoryKey, error) {
	direct, err := client.New(config, client.Options{Scheme: member.Scheme})
	if err != nil {
		return member.Host{}, nil, nil, fmt.Errorf("making the client for the host's API server: %w", err)
	}
	system := &corev1.Namespace{}
	if err := direct.Get(ctx, client.ObjectKey{Name: "kube-system"}, system); err != nil {
		return member.Host{}, nil, nil, fmt.Errorf("reading the host's namespace kube-system, whose uid identifies the host: %w", err)
	}
	seal, err := sealKey(ctx, direct)
	if err != nil {
		return member.Host{}, nil, nil, err
	}
	history, err := historyKey(ctx, direct)
	return member.Host{UID: system.UID}, seal, history, err
}
