// SPDX-License-Identifier: Apache-2.0

package push

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// bare returns the site's Namespace without labels and annotations.
func (s *site) bare() string {
	return fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", s.namespace)
}

// adoptingNamespace returns the desired state of a ClusterFederated that adopts this Namespace if it exists.
func (s *site) adoptingNamespace(text string) *Desired {
	s.Helper()
	w := s.want(text)
	w.OnConflict = v1alpha1.ConflictAdoptIfEqual
	return w
}

// inside returns the site of a Federated in the namespace that this site's ClusterFederated delivers.
func (s *site) inside() *site {
	in := *s
	in.wrapper.Kind, in.wrapper.Namespace, in.wrapper.Name = v1alpha1.KindFederated, s.namespace, "web"
	in.wrapper.UID = "inside-" + s.wrapper.UID
	return &in
}

func (s *site) labels() map[string]string { return s.get("v1", "Namespace", s.namespace).GetLabels() }

// label sets or removes a label of the namespace, as the member's administrator.
func (s *site) label(key, value string) {
	s.Helper()
	s.edit("v1", "Namespace", s.namespace, "admin", func(ns *unstructured.Unstructured) {
		labels := ns.GetLabels()
		if labels[key] = value; value == "" {
			delete(labels, key)
		}
		ns.SetLabels(labels)
	})
}

func TestOnlyAnOpenNamespaceIsAdopted(t *testing.T) {
	s := newClusterSite(t)
	s.create(s.bare())
	w := s.adoptingNamespace(s.bare())
	s.mustFail(w, v1alpha1.ReasonNamespaceNotOpen, s.namespace, v1alpha1.LabelOpen)
	if got := s.labels(); got[v1alpha1.LabelUID] != "" || got[v1alpha1.LabelMade] != "" {
		t.Errorf("the closed namespace was written: %v", got)
	}
	if slices.Contains(s.wire.writes(), "PATCH namespaces/"+s.namespace) {
		t.Error("an apply was sent")
	}
	s.inside().mustFail(s.inside().want(configMap("a", "1")), v1alpha1.ReasonNamespaceNotOpen)

	s.label(v1alpha1.LabelOpen, "true")
	s.mustDeliver(w)
	if got := s.delivery().Spec.Inventory[0].Adopted; got != v1alpha1.AdoptedYes {
		t.Errorf("adopted: %q", got)
	}
	if got := s.labels(); got[v1alpha1.LabelMade] != "" {
		t.Errorf("the adopted namespace has label made: %v", got)
	}
	s.inside().mustDeliver(s.inside().want(configMap("a", "1")))
}

func TestUnderPolicyAllAnyNamespaceIsAdopted(t *testing.T) {
	s := newClusterSite(t)
	s.create(s.bare())
	w := s.adoptingNamespace(s.bare())
	w.Namespaces = v1alpha1.NamespacesAll
	s.mustDeliver(w)
}

// The member's administrator opens a namespace, a wrapper adopts it, and then the administrator closes it again.
func TestAPassDoesNotWriteAnAdoptedNamespaceThatWasClosed(t *testing.T) {
	s := newClusterSite(t)
	s.openNamespace()
	s.mustDeliver(s.adoptingNamespace(s.bare()))
	s.label(v1alpha1.LabelOpen, "")

	s.inside().mustFail(s.inside().want(configMap("a", "1")), v1alpha1.ReasonNamespaceNotOpen)
	changed := s.adoptingNamespace(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {team: x}}}", s.namespace))
	for range 2 { // in the second pass, the Delivery records the Namespace as Pending
		s.mustFail(changed, v1alpha1.ReasonNamespaceNotOpen)
	}
	if s.labels()["team"] != "" {
		t.Error("the closed namespace was written")
	}
	entry := s.delivery().Spec.Inventory[0]
	if entry.UID != s.get("v1", "Namespace", s.namespace).GetUID() || entry.Adopted != v1alpha1.AdoptedYes {
		t.Errorf("the entry lost the adoption: %+v", entry)
	}
	s.label(v1alpha1.LabelOpen, "true")
	s.mustDeliver(changed)
	s.inside().mustDeliver(s.inside().want(configMap("a", "1")))
}

// The member's administrator has closed the namespace. The manager must not write to the namespace any more, so it cannot
// remove Fairlead's marks from it. The removal must succeed all the same.
func TestARemovalKeepsANamespaceThatWasClosed(t *testing.T) {
	s := newClusterSite(t)
	s.openNamespace()
	s.mustDeliver(s.adoptingNamespace(s.bare()))
	s.label(v1alpha1.LabelOpen, "")
	leave := s.leave()
	leave.OnDelete = v1alpha1.DeleteAll
	out := s.mustPush(leave)
	if !out.Done || !slices.ContainsFunc(out.Kept, func(k Kept) bool { return strings.Contains(k.String(), "closed this Namespace to the host") }) {
		t.Errorf("done %v, kept %v, %s %s", out.Done, out.Kept, out.Reason, out.Message)
	}
	if s.labels()[v1alpha1.LabelUID] == "" {
		t.Error("the closed namespace was written")
	}
}

func TestANamespaceOfAClusterFederatedIsCreatedWithItsLabels(t *testing.T) {
	s := newClusterSite(t)
	bodies := s.bodiesTo("/namespaces/" + s.namespace)
	text := fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {team: x}}}", s.namespace)
	s.mustDeliver(s.want(text))
	if got := s.labels(); got[v1alpha1.LabelMade] != "true" || got["team"] != "x" || got[v1alpha1.LabelUID] != string(s.wrapper.UID) {
		t.Errorf("labels %v", got)
	}
	s.inside().mustDeliver(s.inside().want(configMap("a", "1")))

	s.mustDeliver(s.want(s.bare()))
	if got := s.labels(); got[v1alpha1.LabelMade] != "true" || got["team"] != "" {
		t.Errorf("the dropped label stays, or label made is gone: %v", got)
	}
	for _, body := range *bodies {
		if strings.Contains(body, v1alpha1.LabelMade) {
			t.Errorf("an apply has the label made: %s", body)
		}
	}
	if len(*bodies) == 0 {
		t.Error("the wire saw no apply")
	}
}

// bodiesTo records the bodies of later writes whose URL path ends with path.
func (s *site) bodiesTo(path string) *[]string {
	var bodies []string
	s.wire.answer = func(req *http.Request) *http.Response {
		if req.GetBody != nil && strings.HasSuffix(req.URL.Path, path) {
			if body, err := req.GetBody(); err == nil {
				data := make([]byte, req.ContentLength)
				_, _ = body.Read(data) // never fails: the body is in memory
				bodies = append(bodies, string(data))
			}
		}
		return nil
	}
	return &bodies
}

func TestTheNextPassFinishesOrRemovesANamespaceAfterAnyInterruption(t *testing.T) {
	whole := newClusterSite(t)
	whole.mustDeliver(whole.want(whole.bare()))
	for n := range len(whole.wire.all()) {
		for how, cut := range cuts(n + 1) {
			t.Run(fmt.Sprintf("request %d, %s", n+1, how), func(t *testing.T) {
				t.Parallel()
				s := newClusterSite(t)
				w := s.want(s.bare())
				s.wire.begin(cut)
				_, _ = s.push(w)
				s.connect(config)
				if strings.HasPrefix(how, "the pusher") == (n%2 == 0) {
					s.mustDeliver(w)
					if got := s.labels(); got[v1alpha1.LabelMade] != "true" || got[v1alpha1.LabelUID] != string(s.wrapper.UID) {
						t.Errorf("labels %v", got)
					}
					if got := s.delivery().Spec.Inventory[0]; got.Adopted != "" || got.State != v1alpha1.EntryApplied {
						t.Errorf("recorded as %+v", got)
					}
				}
				leave := s.leave()
				leave.OnDelete = v1alpha1.DeleteAll
				s.eventually(leave)
				if s.get("v1", "Namespace", s.namespace) != nil {
					t.Error("the namespace still exists")
				}
			})
		}
	}
}

func TestAPassDoesNotTakeANamespaceThatAnotherClientCreates(t *testing.T) {
	s := newClusterSite(t)
	s.wire.begin(s.atOnce("POST v1/namespaces", func() { s.create(s.bare()) }))
	w := s.adoptingNamespace(s.bare())
	s.mustFail(w, v1alpha1.ReasonNamespaceNotOpen)
	if got := s.labels(); got[v1alpha1.LabelUID] != "" || got[v1alpha1.LabelMade] != "" {
		t.Errorf("labels %v", got)
	}
}

func TestWhichNamespacesAreOpen(t *testing.T) {
	for name, tc := range map[string]struct {
		labels string
		// apply is the field manager of a server-side apply that creates the namespace; "" for a plain create.
		apply string
		// marked gives the existing namespace Fairlead's mark. Earlier versions of Fairlead set it without checking whether
		// the namespace was open.
		marked bool
		open   bool
	}{
		"made by a ClusterFederated of an earlier version":     {apply: v1alpha1.FieldManager, marked: true, open: true},
		"made by kubectl, with Fairlead's mark":                {marked: true},
		"made by another client's apply, with Fairlead's mark": {apply: "argocd", marked: true},
		"made for a Federated":                                 {labels: `federation.fairlead.dev/made: "true"`, open: true},
		"opened by the member":                                 {labels: `federation.fairlead.dev/open: "true"`, open: true},
		"with another value of label open":                     {labels: `federation.fairlead.dev/open: "false"`},
		"with a mark that the member's administrator wrote":    {labels: `federation.fairlead.dev/uid: x`},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			ns := s.parse(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {%s}}}", s.namespace, tc.labels))
			if tc.apply == "" {
				if err := s.admin.Create(t.Context(), ns, client.FieldOwner("kubectl-create")); err != nil {
					t.Fatal(err)
				}
			} else {
				s.applyAs(tc.apply, ns)
			}
			if tc.marked {
				ns := s.parse(s.bare())
				ns.SetLabels(map[string]string{v1alpha1.LabelUID: "some-wrapper"})
				s.applyAs(v1alpha1.FieldManager, ns)
				s.label("touched-by", "admin")
			}
			if w := s.want(configMap("a", "1")); tc.open {
				s.mustDeliver(w)
			} else {
				s.mustFail(w, v1alpha1.ReasonNamespaceNotOpen)
			}
		})
	}
}

func (s *site) applyAs(manager string, obj *unstructured.Unstructured) {
	s.Helper()
	obj.SetManagedFields([]metav1.ManagedFieldsEntry(nil))
	if err := s.admin.Apply(s.Context(), client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner(manager), client.ForceOwnership); err != nil {
		s.Fatal(err)
	}
}
