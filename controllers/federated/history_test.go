// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/controllers/federated/revisions"
	"github.com/fairlead-dev/fairlead/controllers/federated/wrapperevents"
	"github.com/fairlead-dev/fairlead/federate/render"
	"github.com/fairlead-dev/fairlead/federate/report"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

const password = "correct-horse-battery"

var passwords = []string{password, base64.StdEncoding.EncodeToString([]byte(password))}

func testKey(t *testing.T, first byte) *revision.HistoryKey {
	t.Helper()
	key, err := revision.NewHistoryKey(append([]byte{first}, make([]byte, 32)...))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// historyWith returns a History of the site that uses the given key.
func (s *site) historyWith(key *revision.HistoryKey) *revisions.History {
	return &revisions.History{Client: s.client, Live: s.live, Events: s.events, Key: key}
}

// secretSite returns a site whose wrapper contains a Secret.
func secretSite(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.history = testKey(t, 1)
	s.wrapper.Spec.Objects = append(s.wrapper.Spec.Objects, runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"p":"` + password + `"},"data":{"q":"` + passwords[1] + `"}}`)})
	if err := s.Update(t.Context(), s.wrapper); err != nil {
		t.Fatal(err)
	}
	return s
}

// plain writes the revision of the wrapper's spec in plain text, as an earlier version of Fairlead did.
func (s *site) plain() *appsv1.ControllerRevision {
	s.Helper()
	stored, err := revision.Of(&s.wrapper.Spec)
	if err != nil {
		s.Fatal(err)
	}
	old := &appsv1.ControllerRevision{Revision: 7}
	old.Namespace, old.Name = s.wrapper.Namespace, revision.Name(v1alpha1.KindFederated, s.wrapper.Name, stored.Hash)
	old.Labels = map[string]string{v1alpha1.LabelUID: string(s.wrapper.UID)}
	old.Data.Raw = stored.Data
	if err := s.Create(s.Context(), old); err != nil {
		s.Fatal(err)
	}
	return old
}

// viewer is the client of a person who has the built-in role view in the site's namespace.
func (s *site) viewer() client.Client {
	s.Helper()
	for _, role := range []string{"view", "system:aggregate-to-view"} { // a controller copies the rules of the second role into the first
		binding := &rbacv1.RoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "viewer"}}}
		binding.Namespace, binding.Name = s.wrapper.Namespace, strings.ReplaceAll(role, ":", "-")
		if err := s.Create(s.Context(), binding); err != nil {
			s.Fatal(err)
		}
	}
	as := rest.CopyConfig(config)
	as.Impersonate.UserName = "viewer"
	c, err := client.New(as, client.Options{Scheme: member.Scheme})
	if err != nil {
		s.Fatal(err)
	}
	// The authorizer of the API server knows new RoleBindings only a moment after their creation.
	if err := wait.PollUntilContextTimeout(s.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := c.List(ctx, &appsv1.ControllerRevisionList{}, client.InNamespace(s.wrapper.Namespace))
		return err == nil, ignoreForbidden(err)
	}); err != nil {
		s.Fatal(err)
	}
	return c
}

func ignoreForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

func (s *site) expectNoPassword(what string, seen any) {
	s.Helper()
	data, err := json.Marshal(seen)
	if err != nil {
		s.Fatal(err)
	}
	for _, p := range passwords {
		if strings.Contains(string(data), p) {
			s.Errorf("%s has the value of the Secret: %s", what, data)
		}
	}
}

func TestTheViewRoleReadsNoSecretFromRevisionsEventsOrStatus(t *testing.T) {
	s := secretSite(t)
	old := s.plain()
	p := s.pass(v1alpha1.PlacementStatus{Clusters: []string{"east"}})
	if err := p.revise(t.Context()); err != nil || p.invalid != "" {
		t.Fatal(err, p.invalid)
	}
	p.publishRefusal(t)
	if err := s.historyWith(s.history).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.historyWith(testKey(t, 2)).Start(t.Context()); err != nil { // this start, with another key, records the event RevisionUnreadable
		t.Fatal(err)
	}
	s.eventsOf(v1alpha1.ReasonRevisionUnreadable, 1)

	viewer, in := s.viewer(), client.InNamespace(s.wrapper.Namespace)
	revisions := &appsv1.ControllerRevisionList{}
	if err := viewer.List(t.Context(), revisions, in); err != nil {
		t.Fatal(err)
	}
	if len(revisions.Items) != 2 {
		t.Fatalf("%d revisions, want the earlier one and the present one", len(revisions.Items))
	}
	s.expectNoPassword("revisions", revisions.Items)
	recorded := &eventsv1.EventList{}
	if err := viewer.List(t.Context(), recorded, in); err != nil || len(recorded.Items) == 0 {
		t.Fatalf("%d events were sent (%v)", len(recorded.Items), err)
	}
	s.expectNoPassword("events", recorded.Items)
	stored := &v1alpha1.Federated{}
	if err := viewer.Get(t.Context(), client.ObjectKeyFromObject(s.wrapper), stored); !apierrors.IsForbidden(err) {
		t.Errorf("reading the wrapper: %v", err)
	}
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(s.wrapper), stored); err != nil || len(stored.Status.Clusters) != 1 {
		t.Fatalf("the stored status is %+v (%v)", stored.Status, err)
	}
	s.expectNoPassword("status", stored.Status)

	for i := range revisions.Items { // with the key, the manager can still read the content
		r := &revisions.Items[i]
		got, err := s.history.Decode(r.Data.Raw, s.wrapper.UID, r.Name)
		if err != nil || !strings.Contains(string(got.Data), password) {
			t.Errorf("revision %s was decrypted to %s, %v", r.Name, got.Data, err)
		}
		if r.Name == old.Name && (r.Revision != old.Revision || r.UID == old.UID) {
			t.Errorf("the encrypted revision differs from the one in plain text: %+v", r)
		}
	}
}

// publishRefusal publishes a status and an event about an override that fails on a field of the Secret. Neither the
// status nor the event may contain the field's value.
func (p *reconciliation) publishRefusal(t *testing.T) {
	t.Helper()
	spec := p.wrapper.WrapperSpec().DeepCopy()
	spec.Overrides = []v1alpha1.Override{{Target: v1alpha1.OverrideTarget{Kind: "Secret"},
		Patch: []v1alpha1.PatchOperation{{Op: v1alpha1.PatchRemove, Path: "/stringData/p/x"}}}}
	renderer, err := render.New(spec, p.key.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = renderer.For(selection.Member{Name: "east"}); err == nil {
		t.Fatal("the override did not fail")
	}
	in := p.snapshot(&v1alpha1.WrapperStatus{})
	in.Members = []report.Member{{Name: "east", Refusal: refusal(err), Reachability: report.Reachability{Known: true, Usable: true}}}
	status := p.wrapper.WrapperStatus()
	*status = report.Build(in, p.now)
	wrapperevents.Record(p.events, p.wrapper, wrapperevents.Readiness(&v1alpha1.WrapperStatus{}, status, false)...)
	if err := p.client.Status().Update(t.Context(), objectOf(p.wrapper)); err != nil {
		t.Fatal(err)
	}
}

func TestRevisionsWithoutASecretStayAsTheyAre(t *testing.T) {
	s := newSite(t)
	old := s.plain()
	if err := s.historyWith(testKey(t, 1)).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	is := &appsv1.ControllerRevision{}
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(old), is); err != nil || is.UID != old.UID || is.ResourceVersion != old.ResourceVersion {
		t.Errorf("the revision without a Secret was written: %+v, %v", is, err)
	}
}

// After the loss of the key, the manager cannot read the old revisions. It reports that, and still reconciles the
// wrapper.
func TestALostKeyLosesOnlyHistory(t *testing.T) {
	s := secretSite(t)
	p := s.pass(v1alpha1.PlacementStatus{})
	if err := p.revise(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := p.revision
	s.history = testKey(t, 2)
	if err := s.historyWith(s.history).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	told := s.eventsOf(v1alpha1.ReasonRevisionUnreadable, 1)[0]
	if told.Type != corev1.EventTypeWarning || !strings.Contains(told.Note, before) || !strings.Contains(told.Note, v1alpha1.HistorySecret) {
		t.Errorf("the event is: %s %s", told.Type, told.Note)
	}
	again := s.pass(v1alpha1.PlacementStatus{})
	if err := again.revise(t.Context()); err != nil || again.revision == before || again.invalid != "" {
		t.Errorf("the present spec has revision %s, and with the earlier key it had %s: %v", again.revision, before, err)
	}
	list := &appsv1.ControllerRevisionList{}
	if err := s.List(t.Context(), list, client.InNamespace(s.wrapper.Namespace)); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(list.Items, func(r appsv1.ControllerRevision) bool { return r.Name == before }) {
		t.Error("a revision that cannot be read was deleted, although a person may restore its key")
	}
}
