// SPDX-License-Identifier: Apache-2.0

package push

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/render"
)

// rendered returns an object as rendering would make it if admission let every object through.
func (s *site) rendered(text string) render.Object {
	s.Helper()
	obj := s.parse(text)
	data, err := obj.MarshalJSON()
	if err != nil {
		s.Fatal(err)
	}
	return render.Object{GVK: obj.GroupVersionKind(), Name: obj.GetName(), JSON: data, Digest: "sha256:" + obj.GetName()}
}

func TestAPassRefusesReservedObjectsThatBypassedAdmission(t *testing.T) {
	for name, text := range map[string]string{
		"the host's own role":      "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: fairlead-host}, rules: []}",
		"a role that extends it":   "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: wide, labels: {federation.fairlead.dev/aggregate-to-host: 'true'}}, rules: []}",
		"a system namespace":       "{apiVersion: v1, kind: Namespace, metadata: {name: kube-extra}}",
		"a namespace that is open": "{apiVersion: v1, kind: Namespace, metadata: {name: opened, labels: {federation.fairlead.dev/open: 'true'}}}",
		"a webhook configuration":  "{apiVersion: admissionregistration.k8s.io/v1, kind: ValidatingWebhookConfiguration, metadata: {name: fairlead}}",
	} {
		t.Run(name, func(t *testing.T) {
			s := newClusterSite(t)
			w := s.want("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: " + s.namespace + "}, rules: []}")
			reserved := s.rendered(text)
			w.Rendering = fixed{&render.Rendering{Digest: "sha256:both", Objects: append(slices.Clone(objectsOf(t, w)), reserved)}}
			s.mustFail(w, v1alpha1.ReasonSpecInvalid, "Fairlead does not deliver "+reserved.String()+": /metadata/")
			if s.get("rbac.authorization.k8s.io/v1", "ClusterRole", s.namespace) == nil {
				t.Error("the other object was delayed")
			}
			if got := s.get(reserved.GVK.GroupVersion().String(), reserved.GVK.Kind, reserved.Name); got != nil {
				t.Error("the reserved object was applied")
			}
			for _, call := range s.wire.writes() {
				if strings.HasSuffix(call, "/"+reserved.Name) {
					t.Errorf("%s was sent", call)
				}
			}
		})
	}
}

// An earlier version of Fairlead may have delivered the ClusterRole of the host's account. If the manager deleted that
// ClusterRole, it would lose its access to the member.
func TestARemovalKeepsReservedObjects(t *testing.T) {
	s := newClusterSite(t)
	name := "fairlead-host-" + s.namespace
	role := s.create("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: " + name + "}, rules: []}")
	s.mustDeliver(s.want("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: " + s.namespace + "}, rules: []}"))
	d := s.delivery()
	d.Spec.Inventory = append(d.Spec.Inventory, v1alpha1.InventoryEntry{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole",
		Resource: "clusterroles", Name: name, State: v1alpha1.EntryApplied, Rendering: "sha256:x", UID: role.GetUID()})
	if err := s.admin.Update(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	leave := s.leave()
	leave.OnDelete = v1alpha1.DeleteAll
	out := s.mustPush(leave)
	if !out.Done || len(out.Kept) != 1 || !strings.Contains(out.Kept[0].Object, name) {
		t.Errorf("done %v, kept %q: %s", out.Done, out.Kept, out.Message)
	}
	if s.get("rbac.authorization.k8s.io/v1", "ClusterRole", name) == nil {
		t.Error("the reserved object was deleted")
	}
	if s.get("rbac.authorization.k8s.io/v1", "ClusterRole", s.namespace) != nil {
		t.Error("the wrapper's own object still exists")
	}
}
