// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// A rename drops an object under one name and adds it under another. The old object must stay until the new one is
// applied.
func TestADroppedObjectStaysUntilTheNewObjectsAreApplied(t *testing.T) {
	refused := func(s *site, err *apierrors.StatusError) {
		s.wire.answer = func(req *http.Request) *http.Response {
			if nameOf(req) == "PATCH configmaps/new" {
				return refusal(req, err)
			}
			return nil
		}
	}
	for name, test := range map[string]struct {
		brings  string // the object that the update adds; ConfigMap new if empty
		prepare func(*site)
		repair  func(*site) // ends the trouble; nil if only a change of the wrapper does
		reason  string
	}{
		"another client's object has the name": {
			prepare: func(s *site) { s.create(configMap("new", "theirs")) },
			repair:  func(s *site) { s.delete("v1", "ConfigMap", "new") },
			reason:  v1alpha1.ReasonObjectExists,
		},
		"it is not granted": {
			prepare: func(s *site) {
				refused(s, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "new",
					errors.New(`User "u" cannot patch resource "configmaps" in API group ""`)))
			},
			repair: func(s *site) { s.wire.answer = nil },
			reason: v1alpha1.ReasonNotGranted,
		},
		"admission refuses it": {
			prepare: func(s *site) {
				refused(s, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "new", errors.New("denied by policy")))
			},
			repair: func(s *site) { s.wire.answer = nil },
			reason: v1alpha1.ReasonRefused,
		},
		"it is invalid": {brings: `{apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {"a/b": "1"}}`, reason: v1alpha1.ReasonInvalid},
		"its kind is not served": {brings: `{apiVersion: unserved.example.com/v1, kind: Crate, metadata: {name: new}}`,
			reason: v1alpha1.ReasonAPINotServed},
		"it is of the wrong scope": {brings: `{apiVersion: v1, kind: Namespace, metadata: {name: new}}`, reason: v1alpha1.ReasonScopeMismatch},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t)
			s.mustDeliver(s.want(configMap("old", "1"), configMap("other", "1")))
			if test.prepare != nil {
				test.prepare(s)
			}
			brings := test.brings
			if brings == "" {
				brings = configMap("new", "1")
			}
			w := s.want(brings, configMap("other", "2"))
			for range 2 { // in the second pass, the Delivery lists the dropped object as Removing
				s.mustFail(w, test.reason, "the removal of ConfigMap old waits")
			}
			if s.configMap("old") == nil || s.configMap("other").Data["value"] != "2" {
				t.Errorf("old exists: %v, the other has %v", s.configMap("old") != nil, s.configMap("other").Data)
			}
			if test.repair != nil {
				test.repair(s)
				s.mustDeliver(w)
				if s.configMap("old") != nil || s.configMap("new") == nil {
					t.Error("the old object still exists, or the new one does not")
				}
				return
			}
			s.mustDeliver(s.want(configMap("other", "2")))
			if s.configMap("old") != nil {
				t.Error("the old object still exists after the new one was dropped")
			}
		})
	}
}

func TestALeavingWrapperDoesNotWaitForARefusedObject(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("old", "1")))
	s.create(configMap("new", "theirs"))
	s.mustFail(s.want(configMap("new", "1")), v1alpha1.ReasonObjectExists)
	if diff := cmp.Diff([]string{"ConfigMap new Pending", "ConfigMap old Removing"}, s.inventory()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	s.mustDeliver(s.leave())
	if s.configMap("old") != nil || s.delivery() != nil || s.configMap("new").Data["value"] != "theirs" {
		t.Error("an object or the Delivery is left, or the other client's object was changed")
	}
}

// The update drops a quota and adds a claim that the quota forbids. If the removal of the quota waited for the claim,
// the update would never be done.
func TestADroppedKindThatOnlyRestrictsDoesNotWait(t *testing.T) {
	const quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {persistentvolumeclaims: 0}}}"
	s := newSite(t)
	s.mustDeliver(s.want(configMap("old", "1"), quota))
	w := s.want(claimNamed(""))
	s.await("the quota is in effect", func(context.Context) bool {
		u := s.get("v1", "ResourceQuota", "q")
		_, there, _ := unstructured.NestedString(u.Object, "status", "hard", "persistentvolumeclaims")
		return there
	})
	out := s.mustFail(w, v1alpha1.ReasonRefused, "the removal of ConfigMap old waits")
	if !strings.HasPrefix(out.Message, "the removal of") || !strings.Contains(out.Message, "exceeded quota") {
		t.Errorf("message: %s", out.Message)
	}
	if s.get("v1", "ResourceQuota", "q") != nil || s.configMap("old") == nil || out.Retry > plan.RetrySoon {
		t.Errorf("the quota exists: %v, old exists: %v, retry %s", s.get("v1", "ResourceQuota", "q") != nil, s.configMap("old") != nil, out.Retry)
	}
	s.eventually(w)
	if s.configMap("old") != nil || s.get("v1", "PersistentVolumeClaim", "data") == nil {
		t.Error("the old object still exists, or the claim does not")
	}
}
