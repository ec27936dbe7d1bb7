// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"fmt"
	"testing"
	"time"

	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/federate/upgrade"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/namespaces"
	"github.com/fairlead-dev/fairlead/internal/push/reinstall"
)

// csvCleanup is the finalizer that OLM sets on every CSV.
const csvCleanup = "operators.coreos.com/csv-cleanup"

// aheadSite is a site with a Subscription whose target is db.v1.2.0. OLM, which does not run there, has installed db.v1.3.0, and keeps
// db.v1.2.0 because db.v1.3.0 has not succeeded.
type aheadSite struct {
	*site
	uid types.UID // of the Subscription
}

func newAheadSite(t *testing.T) *aheadSite {
	t.Helper()
	s := &aheadSite{site: newOLMSite(t)}
	s.mustDeliver(s.wants("db.v1.2.0"))
	sub := s.get(olmVersion, "Subscription", "db")
	s.uid = sub.GetUID()
	sub.Object["status"] = map[string]any{"installedCSV": "db.v1.3.0", "currentCSV": "db.v1.3.0", "state": "AtLatestKnown", "lastUpdated": "2026-01-01T00:00:00Z"}
	if err := s.admin.Status().Update(s.Context(), sub); err != nil {
		t.Fatal(err)
	}
	s.csv("db.v1.2.0", "db.v1.1.0")
	s.csv("db.v1.3.0", "db.v1.2.0")
	s.create(`{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: db}, spec: {targetNamespaces: [` + s.namespace + `]}}`)
	s.catalog("READY")
	d := s.delivery()
	d.Status.Objects = []v1alpha1.ObjectStatus{{Group: operators.GroupName, Kind: "Subscription", Name: "db", Health: v1alpha1.Degraded, Reason: v1alpha1.ReasonAheadOfTarget}}
	if err := s.admin.Status().Update(s.Context(), d); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *aheadSite) wants(target string) *Desired {
	w := s.want(`{apiVersion: ` + olmVersion + `, kind: Subscription, metadata: {name: db, annotations: {` + v1alpha1.AnnotationTargetCSV + `: ` + target + `}},
		spec: {name: db, channel: stable, source: operators, sourceNamespace: ` + s.namespace + `, installPlanApproval: Manual, startingCSV: ` + target + `}}`)
	w.Reinstalls, w.MayReinstall = true, true
	return w
}

func (s *aheadSite) csv(name, replaces string, crds ...string) {
	s.Helper()
	owned := ""
	for _, crd := range crds {
		owned += fmt.Sprintf("{name: %s, version: v1, kind: DB},", crd)
	}
	s.create(`{apiVersion: ` + olmVersion + `, kind: ClusterServiceVersion, metadata: {name: ` + name + `, finalizers: [` + csvCleanup + `]},
		spec: {displayName: db, replaces: ` + replaces + `, customresourcedefinitions: {owned: [` + owned + `]}, install: {strategy: deployment, spec: {deployments: []}}}}`)
}

// catalog sets the state of the connection to the CatalogSource, and creates the CatalogSource if it does not exist.
func (s *aheadSite) catalog(state string) {
	s.Helper()
	source := s.get(olmVersion, "CatalogSource", "operators")
	if source == nil {
		source = s.create(`{apiVersion: ` + olmVersion + `, kind: CatalogSource, metadata: {name: operators}, spec: {sourceType: grpc, address: "192.0.2.1:50051"}}`)
	}
	source.Object["status"] = map[string]any{"connectionState": map[string]any{"lastObservedState": state}}
	if err := s.admin.Status().Update(s.Context(), source); err != nil {
		s.Fatal(err)
	}
}

// cleanUp does what OLM does with CSVs that are being deleted: it removes its finalizer.
func (s *aheadSite) cleanUp(names ...string) {
	s.Helper()
	for _, name := range names {
		if csv := s.get(olmVersion, "ClusterServiceVersion", name); csv != nil && csv.GetDeletionTimestamp() != nil {
			csv.SetFinalizers(nil)
			if err := s.admin.Update(s.Context(), csv); client.IgnoreNotFound(err) != nil {
				s.Logf("OLM tries again: %v", err)
			}
		}
	}
}

// isReinstalled reports whether the CSVs are gone, and the Subscription was created again.
func (s *aheadSite) isReinstalled() bool {
	s.Helper()
	sub := s.get(olmVersion, "Subscription", "db")
	return sub != nil && sub.GetUID() != s.uid && s.get(olmVersion, "ClusterServiceVersion", "db.v1.2.0") == nil && s.get(olmVersion, "ClusterServiceVersion", "db.v1.3.0") == nil
}

// manager is a manager that reinstalls on the site. Its clock moves only with the test.
type manager struct {
	*Pusher
	clock *clocktesting.FakeClock
	stop  func()
}

// manage starts a manager. isCollected tells whether the member has a ready collector.
func (s *aheadSite) manage(want *Desired, isCollected bool) *manager {
	s.Helper()
	return s.manageAs(want, Host{ReinstallsOperators: true, Observes: func(string) bool { return isCollected }})
}

func (s *aheadSite) manageAs(want *Desired, host Host) *manager {
	s.Helper()
	s.connect(config)
	m := &manager{clock: clocktesting.NewFakeClock(time.Now())}
	m.Pusher = New(member.NewFleet(member.Host{}, m.clock), deliveries.NewStore(m.clock), m.clock, host, func(Key) {})
	ctx, cancel := context.WithCancel(s.Context())
	m.stop = cancel
	s.Cleanup(cancel)
	if err := m.Engage(ctx, "east", s.conn); err != nil {
		s.Fatal(err)
	}
	m.SetDesired("east", want)
	m.probed("east", member.ProbeResult{}, usable)
	return m
}

// step moves the clock, lets OLM clean up, and writes the status that shows an announcement.
func (s *aheadSite) step(m *manager) {
	s.Helper()
	s.show(m)
	s.cleanUp("db.v1.2.0", "db.v1.3.0")
	m.clock.Step(time.Second)
}

// show writes the status that shows an announcement.
func (s *aheadSite) show(m *manager) {
	s.Helper()
	if is := m.Result(KeyOf(s.wrapper), "east").Reinstall; is != nil && is.Reason == v1alpha1.ReasonReinstallAnnounced {
		m.Announced(KeyOf(s.wrapper), "east", health.Clean(is.Message, upgrade.MaxAnnouncement))
	}
}

// attempt makes one attempt of a manager that has announced the removal for long enough.
func (s *aheadSite) attempt(w *Desired) reinstall.Result {
	s.Helper()
	d := s.delivery()
	rendering, err := w.Rendering.Render()
	if err != nil {
		s.Fatal(err)
	}
	subscriptions, err := reinstall.SubscriptionsOf(rendering)
	if err != nil {
		s.Fatal(err)
	}
	a := reinstall.Attempt{
		Conn: s.conn, Desired: w, Delivery: d.Name, DeliveryUID: d.UID, Subscriptions: subscriptions, IsApplied: true, IsCollected: true,
		Namespaces: namespaces.New(s.conn, w.Namespaces, nil, nil), IsDesired: func() bool { return true }, IsHealthy: func(string) bool { return false }, Now: time.Now(),
	}
	is, err := a.Run(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	if is.Step == upgrade.Announce {
		a.Announced = map[string]upgrade.Announcement{"db": {Removal: is.Removal, Shown: a.Now.Add(-upgrade.AnnouncedFor)}}
		if is, err = a.Run(s.Context()); err != nil {
			s.Fatal(err)
		}
	}
	return is
}

func (s *aheadSite) annotateDelivery(text string) {
	s.Helper()
	d := s.delivery()
	d.Annotations = map[string]string{v1alpha1.AnnotationReinstalls: text}
	if err := s.admin.Update(s.Context(), d); err != nil {
		s.Fatal(err)
	}
}
