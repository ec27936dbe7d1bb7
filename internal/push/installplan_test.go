// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/operator-framework/api/crds"
	operators "github.com/operator-framework/api/pkg/operators/v1alpha1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/installplan"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

const olmVersion = operators.GroupName + "/" + operators.GroupVersion

// newOLMSite makes a site with an open namespace on a member that serves OLM's kinds. OLM itself does not run there.
func newOLMSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.openNamespace()
	if err := applyOLM(); err != nil {
		t.Fatal(err)
	}
	s.served(olmVersion, "Subscription")
	s.served(olmVersion, "InstallPlan")
	s.served(olmVersion, "ClusterServiceVersion")
	s.served(olmVersion, "CatalogSource")
	s.served("operators.coreos.com/v1", "OperatorGroup")
	return s
}

// applyOLM applies OLM's CRDs to the member when the first test needs them. They are so large that an API server works on them for about
// a second, also if nothing changes.
var applyOLM = sync.OnceValue(func() error {
	for _, crd := range []*apiextensionsv1.CustomResourceDefinition{crds.Subscription(), crds.InstallPlan(), crds.OperatorGroup(), crds.ClusterServiceVersion(), crds.CatalogSource()} {
		crd.TypeMeta = metav1.TypeMeta{APIVersion: apiextensionsv1.SchemeGroupVersion.String(), Kind: "CustomResourceDefinition"}
		crd.Status = apiextensionsv1.CustomResourceDefinitionStatus{}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
		if err != nil {
			return err
		}
		applied := &unstructured.Unstructured{Object: content}
		unstructured.RemoveNestedField(applied.Object, "status")
		unstructured.RemoveNestedField(applied.Object, "metadata", "creationTimestamp")
		ctx := context.Background() // the CRDs must outlive the first test
		if err := admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("test"), client.ForceOwnership); err != nil {
			return err
		}
	}
	return nil
})

// subscribed creates a Subscription of the wrapper. Its status names the InstallPlan that OLM would make for the CSV
// that next names. If target is "", the Subscription belongs to another owner.
func (s *site) subscribed(name, installed, next, target, plan string) {
	s.Helper()
	sub := s.parse(`{apiVersion: ` + olmVersion + `, kind: Subscription, metadata: {name: ` + name + `},
		spec: {name: ` + name + `, channel: stable, source: operators, sourceNamespace: olm, installPlanApproval: Manual}}`)
	if target != "" {
		sub.SetAnnotations(map[string]string{v1alpha1.AnnotationTargetCSV: target})
		sub.SetLabels(map[string]string{v1alpha1.LabelUID: string(s.wrapper.UID)})
	}
	if err := s.admin.Create(s.Context(), sub); err != nil {
		s.Fatal(err)
	}
	s.offers(sub, installed, next, plan)
}

// offers sets the status of a Subscription as OLM does when an upgrade waits for the approval of an InstallPlan. next
// names the new CSV, and plan the InstallPlan. If next is installed already, the status is as OLM writes it afterwards.
func (s *site) offers(sub *unstructured.Unstructured, installed, next, plan string) {
	s.Helper()
	state := operators.SubscriptionStateUpgradePending
	if next == installed {
		state = operators.SubscriptionStateAtLatest
	}
	sub.Object["status"] = map[string]any{"installedCSV": installed, "currentCSV": next, "state": string(state), "lastUpdated": "2026-01-01T00:00:00Z",
		"installPlanRef": map[string]any{"name": plan, "namespace": s.namespace}}
	if err := s.admin.Status().Update(s.Context(), sub); err != nil {
		s.Fatal(err)
	}
}

// pending creates an InstallPlan for these CSVs that waits for approval.
func (s *site) pending(name string, csvs ...string) {
	s.Helper()
	plan := s.create(`{apiVersion: ` + olmVersion + `, kind: InstallPlan, metadata: {name: ` + name + `},
		spec: {approval: Manual, approved: false, clusterServiceVersionNames: [` + strings.Join(csvs, ", ") + `]}}`)
	plan.Object["status"] = map[string]any{"phase": "RequiresApproval", "catalogSources": []any{}}
	if err := s.admin.Status().Update(s.Context(), plan); err != nil {
		s.Fatal(err)
	}
}

// installed creates a ClusterServiceVersion in this phase.
func (s *site) installed(name, phase string) {
	s.Helper()
	csv := s.create(`{apiVersion: ` + olmVersion + `, kind: ClusterServiceVersion, metadata: {name: ` + name + `},
		spec: {displayName: db, install: {strategy: deployment, spec: {deployments: []}}}}`)
	csv.Object["status"] = map[string]any{"phase": phase}
	if err := s.admin.Status().Update(s.Context(), csv); err != nil {
		s.Fatal(err)
	}
}

func (s *site) isApproved(plan string) bool {
	s.Helper()
	approved, _, _ := unstructured.NestedBool(s.get(olmVersion, "InstallPlan", plan).Object, "spec", "approved")
	return approved
}

// approvePlans tries to approve the pending plans of Subscription db. target is the CSV to which db is to be upgraded.
func (s *site) approvePlans(target string) *memberapi.Trouble {
	s.Helper()
	trouble, err := installplan.Approve(s.Context(), s.conn, s.wrapper.UID, installplan.Targets{s.namespace: {"db": target}})
	if err != nil {
		s.Fatal(err)
	}
	return trouble
}

func TestAnInstallPlanOnTheWayToTheTargetIsApprovedInFourRequests(t *testing.T) {
	s := newOLMSite(t)
	s.subscribed("db", "db.v1.0.0", "db.v1.1.0", "db.v1.2.0", "install-1")
	s.pending("install-1", "db.v1.1.0")
	s.installed("db.v1.0.0", "Succeeded")
	s.wire.begin(nil)
	if trouble := s.approvePlans("db.v1.2.0"); trouble != nil || !s.isApproved("install-1") {
		t.Fatalf("approved %v, trouble %+v", s.isApproved("install-1"), trouble)
	}
	want := []string{"GET " + s.namespace + "/subscriptions", "GET installplans/install-1", "GET clusterserviceversions/db.v1.0.0", "PATCH installplans/install-1"}
	if is := s.wire.all(); !slices.Equal(is, want) {
		t.Errorf("the member was asked for %v, not for %v", is, want)
	}
	s.wire.begin(nil)
	if s.approvePlans("db.v1.2.0"); len(s.wire.writes()) > 0 {
		t.Errorf("an approved plan was written again: %v", s.wire.writes())
	}
}

func TestTheMemberQueueApprovesAPlanThatTheCollectorReports(t *testing.T) {
	s := newOLMSite(t)
	p, key := s.engage(), KeyOf(s.wrapper)
	p.probed("east", member.ProbeResult{}, usable)
	p.SetDesired("east", s.want(`{apiVersion: `+olmVersion+`, kind: Subscription, metadata: {name: db, annotations: {`+v1alpha1.AnnotationTargetCSV+`: db.v1.1.0}},
		spec: {name: db, channel: stable, source: operators, sourceNamespace: olm, installPlanApproval: Manual}}`))
	s.await("the Subscription is pushed", func(context.Context) bool { return p.Pair(key, "east").Holds })
	report := func(message string) {
		d := s.delivery()
		d.Status.Objects = []v1alpha1.ObjectStatus{{Group: operators.GroupName, Kind: "Subscription", Name: "db",
			Health: v1alpha1.Progressing, Reason: v1alpha1.ReasonInstallPlanPending, Message: message}}
		if err := s.admin.Status().Update(s.Context(), d); err != nil {
			t.Fatal(err)
		}
	}

	s.offers(s.get(olmVersion, "Subscription", "db"), "db.v1.0.0", "db.v1.1.0", "install-1")
	s.installed("db.v1.0.0", "Succeeded")
	s.pending("install-1", "db.v1.1.0", "cache.v2.0.0")
	s.subscribed("cache", "cache.v1.0.0", "cache.v2.0.0", "", "install-1")
	report("InstallPlan install-1 waits")
	s.await("the refusal is told", func(context.Context) bool {
		refused := p.Result(key, "east").Unapproved
		return refused != nil && refused.Reason == v1alpha1.ReasonInstallPlanBundlesOthers
	})
	if s.isApproved("install-1") {
		t.Error("the other owner's operator is upgraded")
	}

	s.delete(olmVersion, "Subscription", "cache")
	s.pending("install-2", "db.v1.1.0")
	s.offers(s.get(olmVersion, "Subscription", "db"), "db.v1.0.0", "db.v1.1.0", "install-2")
	report("InstallPlan install-2 waits")
	s.await("the next plan is approved", func(context.Context) bool { return s.isApproved("install-2") })
	s.await("the refusal is forgotten", func(context.Context) bool { return p.Result(key, "east").Unapproved == nil })
}

func TestAnInstallPlanThatChangesAnotherOwnersOperatorIsNotApproved(t *testing.T) {
	s := newOLMSite(t)
	s.subscribed("db", "db.v1.0.0", "db.v1.1.0", "db.v1.1.0", "install-1")
	s.subscribed("cache", "cache.v1.0.0", "cache.v2.0.0", "", "install-1")
	s.pending("install-1", "db.v1.1.0", "cache.v2.0.0")
	trouble := s.approvePlans("db.v1.1.0")
	if trouble == nil || trouble.Reason != v1alpha1.ReasonInstallPlanBundlesOthers || !strings.Contains(trouble.Message, "Subscription cache") {
		t.Errorf("%+v", trouble)
	}
	if s.isApproved("install-1") {
		t.Error("the other owner's operator is upgraded")
	}
}

// OLM does not change the CSVs of a plan, but an administrator of the member can do so between the read and the
// approval.
func TestAnInstallPlanThatChangedSinceItWasReadIsNotApproved(t *testing.T) {
	s := newOLMSite(t)
	s.subscribed("db", "db.v1.0.0", "db.v1.1.0", "db.v1.1.0", "install-1")
	s.pending("install-1", "db.v1.1.0")
	s.installed("db.v1.0.0", "Succeeded")
	s.wire.begin(func(_ int, req *http.Request) fate {
		if req.Method == http.MethodPatch {
			s.edit(olmVersion, "InstallPlan", "install-1", "admin", func(u *unstructured.Unstructured) {
				_ = unstructured.SetNestedStringSlice(u.Object, []string{"db.v1.1.0", "cache.v2.0.0"}, "spec", "clusterServiceVersionNames")
			})
		}
		return through
	})
	if trouble := s.approvePlans("db.v1.1.0"); trouble != nil || s.isApproved("install-1") {
		t.Errorf("approved %v, trouble %+v", s.isApproved("install-1"), trouble)
	}
}

func TestThePlanOfASubscriptionThatIsNotTheWrappersAnyMoreIsLeftAlone(t *testing.T) {
	s := newOLMSite(t)
	s.subscribed("db", "db.v1.0.0", "db.v1.1.0", "db.v1.0.0", "install-1") // the target that an earlier revision set
	s.pending("install-1", "db.v1.1.0")
	s.installed("db.v1.0.0", "Succeeded")
	if trouble := s.approvePlans("db.v1.1.0"); trouble == nil || trouble.Reason != v1alpha1.ReasonDrifted || s.isApproved("install-1") {
		t.Errorf("approved %v, trouble %+v", s.isApproved("install-1"), trouble)
	}
}

// The collector has reported that a plan waits, but since then the installed CSV has failed.
func TestTheNextStepIsNotApprovedBeforeTheLastHasSucceeded(t *testing.T) {
	s := newOLMSite(t)
	s.subscribed("db", "db.v1.0.0", "db.v1.1.0", "db.v1.1.0", "install-1")
	s.pending("install-1", "db.v1.1.0")
	s.installed("db.v1.0.0", "Failed")
	if trouble := s.approvePlans("db.v1.1.0"); trouble != nil || s.isApproved("install-1") {
		t.Errorf("approved %v, trouble %+v", s.isApproved("install-1"), trouble)
	}
}

// OLM makes a newer plan for the whole namespace, but names it only in the Subscriptions that it changes. The wrapper's
// Subscription still names the earlier plan.
func TestANewerPlanOfTheNamespaceIsApprovedInPlaceOfAnOutdatedOne(t *testing.T) {
	s := newOLMSite(t)
	s.subscribed("db", "db.v1.0.0", "db.v1.1.0", "db.v1.1.0", "install-1")
	s.subscribed("cache", "cache.v1.0.0", "cache.v3.0.0", "", "install-2")
	s.edit(olmVersion, "Subscription", "cache", "admin", func(u *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(u.Object, "Automatic", "spec", "installPlanApproval")
	})
	s.pending("install-1", "db.v1.1.0", "cache.v2.0.0")
	s.pending("install-2", "db.v1.1.0", "cache.v3.0.0")
	s.installed("db.v1.0.0", "Succeeded")
	s.approvePlans("db.v1.1.0")
	if s.isApproved("install-1") {
		t.Error("the outdated plan is approved")
	}
	if !s.isApproved("install-2") {
		t.Error("the newer plan is not approved")
	}
}

// OLM made install-1 for cache alone, and install-2 for both when db got a version too. The owner of cache approved install-1.
func TestAPlanWithACSVThatIsInstalledAlreadyIsApproved(t *testing.T) {
	s := newOLMSite(t)
	s.subscribed("cache", "cache.v2.0.0", "cache.v2.0.0", "", "install-1")
	s.subscribed("db", "db.v1.0.0", "db.v1.1.0", "db.v1.1.0", "install-2")
	s.pending("install-2", "cache.v2.0.0", "db.v1.1.0")
	s.installed("db.v1.0.0", "Succeeded")
	if trouble := s.approvePlans("db.v1.1.0"); trouble != nil || !s.isApproved("install-2") {
		t.Errorf("approved %v, trouble %+v", s.isApproved("install-2"), trouble)
	}
}

func TestAVersionThatIsGoneHoldsUpNoPlan(t *testing.T) {
	s := newOLMSite(t)
	s.subscribed("db", "db.v1.0.0", "db.v1.1.0", "db.v1.1.0", "install-1")
	s.pending("install-1", "db.v1.1.0")
	if trouble := s.approvePlans("db.v1.1.0"); trouble != nil || !s.isApproved("install-1") {
		t.Errorf("approved %v, trouble %+v", s.isApproved("install-1"), trouble)
	}
}

func TestWithoutTheRightToApproveTheTroubleNamesTheMissingRule(t *testing.T) {
	s := newOLMSite(t)
	s.subscribed("db", "db.v1.0.0", "db.v1.1.0", "db.v1.1.0", "install-1")
	s.pending("install-1", "db.v1.1.0")
	s.installed("db.v1.0.0", "Succeeded")
	s.restricted(rbacv1.PolicyRule{APIGroups: []string{operators.GroupName}, Resources: []string{"subscriptions", "installplans", "clusterserviceversions"}, Verbs: []string{"get", "list"}})
	said := ""
	s.await("the missing rule is named", func(context.Context) bool { // an API server needs a moment to read a new role
		if trouble := s.approvePlans("db.v1.1.0"); trouble != nil && trouble.Reason == v1alpha1.ReasonNotGranted {
			said = trouble.Message
		}
		return strings.Contains(said, "resources: [installplans], verbs: [get, list, patch]")
	}, &said)
}

func TestAMemberThatDoesNotAnswerApprovesNothingAndIsNoTroubleOfThePlan(t *testing.T) {
	s := newOLMSite(t)
	s.subscribed("db", "db.v1.0.0", "db.v1.1.0", "db.v1.1.0", "install-1")
	s.pending("install-1", "db.v1.1.0")
	s.installed("db.v1.0.0", "Succeeded")
	for point := 1; point <= 4; point++ {
		s.wire.begin(func(n int, _ *http.Request) fate { return map[bool]fate{true: lost, false: through}[n == point] })
		_, err := installplan.Approve(context.WithoutCancel(t.Context()), s.conn, s.wrapper.UID, installplan.Targets{s.namespace: {"db": "db.v1.1.0"}})
		if err == nil || !memberapi.ConcernsMember(err) {
			t.Errorf("request %d lost: %v", point, err)
		}
	}
	if s.wire.begin(nil); s.isApproved("install-1") {
		t.Error("it was approved by a lost request")
	}
}

func TestAnObjectThatBreaksTheOperatorsOfOthersIsNotCreated(t *testing.T) {
	s := newOLMSite(t)
	group := func(name string) string {
		return `{apiVersion: operators.coreos.com/v1, kind: OperatorGroup, metadata: {name: ` + name + `}, spec: {targetNamespaces: [` + s.namespace + `]}}`
	}
	wanted := `{apiVersion: ` + olmVersion + `, kind: Subscription, metadata: {name: db, annotations: {` + v1alpha1.AnnotationTargetCSV + `: db.v1.0.0}},
		spec: {name: db, channel: stable, source: operators, sourceNamespace: olm, installPlanApproval: Manual}}`
	theirs := s.create(group("theirs"))
	s.subscribed("cache", "cache.v1.0.0", "cache.v1.0.0", "", "install-1")

	s.mustFail(s.want(group("ours"), configMap("a", "1")), v1alpha1.ReasonOperatorGroupExists, "OperatorGroup ours", "has OperatorGroup theirs")
	if s.get("operators.coreos.com/v1", "OperatorGroup", "ours") != nil || s.get("v1", "ConfigMap", "a") == nil {
		t.Error("the second OperatorGroup is there, or it held up another object")
	}
	s.delete("operators.coreos.com/v1", "OperatorGroup", theirs.GetName())
	s.mustDeliver(s.want(group("ours"), configMap("a", "1")))
	s.mustDeliver(s.want(group("renamed"), configMap("a", "1"))) // the wrapper's own OperatorGroup, under its earlier name, is no neighbour

	s.mustFail(s.want(wanted), v1alpha1.ReasonNamespaceShared, "Subscription db", "has Subscription cache", "sharedNamespace: Allow")
	if s.get(olmVersion, "Subscription", "db") != nil {
		t.Error("it was created")
	}
	shared := s.want(wanted)
	shared.SharesNamespace = true
	s.mustDeliver(shared)

	id := plan.ObjectID{Group: operators.GroupName, Kind: "Subscription", Name: "db"}
	for name, recalled := range map[string]bool{"by a pass that reads the Delivery": false, "by a pass that writes without a read": true} {
		uid := s.get(olmVersion, "Subscription", "db").GetUID()
		s.delete(olmVersion, "Subscription", "db")
		p := &pass{conn: s.conn, want: s.want(wanted), drifted: map[plan.ObjectID]v1alpha1.DriftKind{id: v1alpha1.DriftGone}, seals: s.seals}
		if recalled {
			p.gone, p.recalled = map[plan.ObjectID]types.UID{id: uid}, s.recall()
		}
		if out, err := p.run(t.Context()); err != nil || !out.Done {
			t.Errorf("%s: its neighbours keep it from being made again: %+v, %v", name, out, err)
		}
	}
}

func TestASubscriptionThatOLMGeneratedForADependencyIsNoNeighbour(t *testing.T) {
	s := newOLMSite(t)
	s.subscribed("cache", "cache.v1.0.0", "cache.v1.0.0", "", "install-1")
	s.edit(olmVersion, "Subscription", "cache", "olm", func(u *unstructured.Unstructured) {
		u.SetAnnotations(map[string]string{"olm.generated-by": "install-1"})
	})
	s.mustDeliver(s.want(`{apiVersion: ` + olmVersion + `, kind: Subscription, metadata: {name: db, annotations: {` + v1alpha1.AnnotationTargetCSV + `: db.v1.0.0}},
		spec: {name: db, channel: stable, source: operators, sourceNamespace: olm, installPlanApproval: Manual}}`))
}

// A push ends after it has created a Subscription and before it records that. Then another owner creates a Subscription
// in the same namespace. The next push must apply the wrapper's Subscription again without the check for neighbours.
func TestAnObjectThatIsThereAlreadyIsNotHeldUpByItsNeighbours(t *testing.T) {
	s := newOLMSite(t)
	wanted := s.want(`{apiVersion: ` + olmVersion + `, kind: Subscription, metadata: {name: db, annotations: {` + v1alpha1.AnnotationTargetCSV + `: db.v1.0.0}},
		spec: {name: db, channel: stable, source: operators, sourceNamespace: olm, installPlanApproval: Manual}}`)
	s.interrupt(wanted, "PATCH deliveries/fed."+s.namespace+".web")
	s.wire.begin(nil)
	s.subscribed("cache", "cache.v1.0.0", "cache.v1.0.0", "", "install-1")
	s.mustDeliver(wanted)
}
