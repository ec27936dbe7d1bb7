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

// An object that is renamed is dropped under one name and added under another. As long as the new one does
// not stand, the old one is all there is.
func TestWhatAnUpdateDropsStaysUntilWhatItBringsStands(t *testing.T) {
	refused := func(s *site, err *apierrors.StatusError) {
		s.wire.answer = func(req *http.Request) *http.Response {
			if nameOf(req) == "PATCH configmaps/new" {
				return refusal(req, err)
			}
			return nil
		}
	}
	for name, test := range map[string]struct {
		brings  string // configMap new where it is empty
		prepare func(*site)
		mend    func(*site) // nil where only another wish mends it
		reason  string
	}{
		"somebody else's is in the way": {
			prepare: func(s *site) { s.create(configMap("new", "theirs")) },
			mend:    func(s *site) { s.delete("v1", "ConfigMap", "new") },
			reason:  v1alpha1.ReasonObjectExists,
		},
		"it is not granted": {
			prepare: func(s *site) {
				refused(s, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "new",
					errors.New(`User "u" cannot patch resource "configmaps" in API group ""`)))
			},
			mend:   func(s *site) { s.wire.answer = nil },
			reason: v1alpha1.ReasonNotGranted,
		},
		"admission refuses it": {
			prepare: func(s *site) {
				refused(s, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "new", errors.New("denied by policy")))
			},
			mend:   func(s *site) { s.wire.answer = nil },
			reason: v1alpha1.ReasonRefused,
		},
		"it is invalid": {brings: `{apiVersion: v1, kind: ConfigMap, metadata: {name: new}, data: {"a/b": "1"}}`, reason: v1alpha1.ReasonInvalid},
		"its kind is not served": {brings: `{apiVersion: nobody.example.com/v1, kind: Crate, metadata: {name: new}}`,
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
			for range 2 { // the second pass knows it from the Delivery alone
				s.mustFail(w, test.reason, "the removal of ConfigMap old waits")
			}
			if s.configMap("old") == nil || s.configMap("other").Data["value"] != "2" {
				t.Errorf("old is there: %v, the other says %v", s.configMap("old") != nil, s.configMap("other").Data)
			}
			if test.mend != nil {
				test.mend(s)
				s.mustDeliver(w)
				if s.configMap("old") != nil || s.configMap("new") == nil {
					t.Error("the old one is still there, or the new one is not")
				}
				return
			}
			s.mustDeliver(s.want(configMap("other", "2")))
			if s.configMap("old") != nil {
				t.Error("with nothing in the way the old one is still there")
			}
		})
	}
}

func TestLeavingWaitsForNothingThatWasRefused(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("old", "1")))
	s.create(configMap("new", "theirs"))
	s.mustFail(s.want(configMap("new", "1")), v1alpha1.ReasonObjectExists)
	if diff := cmp.Diff([]string{"ConfigMap new Pending", "ConfigMap old Removing"}, s.inventory()); diff != "" {
		t.Errorf("inventory (-want +got):\n%s", diff)
	}
	s.mustDeliver(s.leave())
	if s.configMap("old") != nil || s.delivery() != nil || s.configMap("new").Data["value"] != "theirs" {
		t.Error("something of ours is left, or theirs was touched")
	}
}

// What keeps its own additions out goes first, or such an update would never come to its end.
func TestWhatOnlyRestrictsIsDroppedWithoutWaiting(t *testing.T) {
	const quota = "{apiVersion: v1, kind: ResourceQuota, metadata: {name: q}, spec: {hard: {persistentvolumeclaims: 0}}}"
	s := newSite(t)
	s.mustDeliver(s.want(configMap("old", "1"), quota))
	w := s.want(claimNamed(""))
	s.await("the quota counts", func(context.Context) bool {
		u := s.get("v1", "ResourceQuota", "q")
		_, there, _ := unstructured.NestedString(u.Object, "status", "hard", "persistentvolumeclaims")
		return there
	})
	out := s.mustFail(w, v1alpha1.ReasonRefused, "the removal of ConfigMap old waits")
	if !strings.HasPrefix(out.Message, "the removal of") || !strings.Contains(out.Message, "exceeded quota") {
		t.Errorf("message: %s", out.Message)
	}
	if s.get("v1", "ResourceQuota", "q") != nil || s.configMap("old") == nil || out.Retry > plan.RetrySoon {
		t.Errorf("the quota is there: %v, old is there: %v, retry %s", s.get("v1", "ResourceQuota", "q") != nil, s.configMap("old") != nil, out.Retry)
	}
	s.eventually(w)
	if s.configMap("old") != nil || s.get("v1", "PersistentVolumeClaim", "data") == nil {
		t.Error("it did not come to its end")
	}
}
