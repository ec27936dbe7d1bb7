// SPDX-License-Identifier: Apache-2.0

package push

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// Fairlead has a compiled-in list of Kubernetes' own kinds. It must be exactly the kinds that a real API server serves
// in a stable version and whose objects it stores. For example, it stores no TokenReview.
func TestTheCompiledInKindsAreThoseOfARealAPIServer(t *testing.T) {
	s := newSite(t)
	lists, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	served := map[schema.GroupKind]meta.RESTMapping{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.APIResources {
			r := &list.APIResources[i]
			scope := meta.RESTScopeRoot
			if r.Namespaced {
				scope = meta.RESTScopeNamespace
			}
			served[schema.GroupKind{Group: gv.Group, Kind: r.Kind}] = meta.RESTMapping{
				Resource: gv.WithResource(r.Name), GroupVersionKind: gv.WithKind(r.Kind), Scope: scope}
			own := !strings.Contains(gv.Group, ".") || member.Scheme.IsGroupRegistered(gv.Group)
			if !own || strings.Contains(gv.Version, "alpha") || strings.Contains(gv.Version, "beta") || len(r.Verbs) < 5 {
				continue // a kind of a CRD, or without a stable version, or without objects
			}
			gk := schema.GroupKind{Group: gv.Group, Kind: r.Kind}
			before := len(s.wire.all())
			found, err := s.conn.Mapping(t.Context(), gk)
			if err != nil || *found != served[gk] || len(s.wire.all()) != before {
				t.Errorf("%s: the server has %+v, the mapping is %+v after %d requests (%v)", gk, served[gk], found, len(s.wire.all())-before, err)
			}
		}
	}
	for gvk := range member.Scheme.AllKnownTypes() {
		if gvk.Group == v1alpha1.Group {
			continue // these are Fairlead's own kinds, and a member has only some of them
		}
		before := len(s.wire.all())
		found, err := s.conn.Mapping(t.Context(), gvk.GroupKind())
		if len(s.wire.all()) == before && (err != nil || *found != served[gvk.GroupKind()]) {
			t.Errorf("%s: no server has it as %+v (%v)", gvk, found, err)
		}
	}
}

// An older member, or a member that has switched off an API, may lack a built-in kind. If it serves other kinds of the same group and
// version, its answer is a Status that names nothing.
func TestABuiltInKindThatAMemberLacksIsReportedAndDelaysNoOtherObject(t *testing.T) {
	for name, unserved := range map[string]func(*http.Request) *http.Response{
		"it serves nothing of the group": func(req *http.Request) *http.Response {
			return &http.Response{StatusCode: http.StatusNotFound, Request: req, Header: http.Header{"Content-Type": []string{"text/plain"}},
				Body: io.NopCloser(strings.NewReader("404 page not found\n"))}
		},
		"it serves other kinds of the group": func(req *http.Request) *http.Response {
			if req.URL.Path == "/apis/batch/v1" {
				return &http.Response{StatusCode: http.StatusOK, Request: req, Header: http.Header{"Content-Type": []string{"application/json"}}, Body: io.NopCloser(strings.NewReader(
					`{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"batch/v1","resources":[{"name":"jobs","namespaced":true,"kind":"Job","verbs":["get"]}]}`))}
			}
			if !strings.Contains(req.URL.Path, "/cronjobs") {
				return nil
			}
			return refusal(req, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound,
				Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{}}})
		},
	} {
		t.Run(name, func(t *testing.T) { lackCronJobs(t, unserved) })
	}
}

const cronJob = `{apiVersion: batch/v1, kind: CronJob, metadata: {name: j}, spec: {schedule: "0 0 * * *", jobTemplate: {spec: {template:
	{spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}}`

// lackCronJobs pushes a CronJob to a member that answers requests for CronJobs with unserved.
func lackCronJobs(t *testing.T, unserved func(*http.Request) *http.Response) {
	t.Helper()
	never := newSite(t)
	never.wire.answer = func(req *http.Request) *http.Response {
		if !strings.HasPrefix(req.URL.Path, "/apis/batch") {
			return nil
		}
		return unserved(req)
	}
	for range 2 {
		never.mustFail(never.want(configMap("a", "1"), cronJob), v1alpha1.ReasonAPINotServed, "CronJob j: the member does not serve CronJob in batch/v1")
	}
	never.eventually(never.leave()) // no removal waits for a kind that the member has never served

	s := newSite(t)
	lacking := atomic.Bool{}
	lacking.Store(true)
	s.wire.answer = func(req *http.Request) *http.Response {
		if !lacking.Load() || !strings.HasPrefix(req.URL.Path, "/apis/batch") {
			return nil
		}
		return unserved(req)
	}
	want := s.want(configMap("a", "1"), cronJob)
	s.mustFail(want, v1alpha1.ReasonAPINotServed, "CronJob j")
	out := s.mustFail(want, v1alpha1.ReasonAPINotServed, "CronJob j: the member does not serve CronJob in batch/v1; the manager delivers it once")
	if s.get("v1", "ConfigMap", "a") == nil {
		t.Errorf("the other object was delayed: %+v", out)
	}
	lacking.Store(false)
	s.eventually(want)
	if s.get("batch/v1", "CronJob", "j") == nil {
		t.Error("the CronJob was not delivered after its API was back")
	}
	lacking.Store(true)
	for range 3 {
		s.mustFail(s.leave(), v1alpha1.ReasonRemovalWaits, "CronJob j")
	}
	lacking.Store(false)
	s.eventually(s.leave())
	if s.get("batch/v1", "CronJob", "j") != nil {
		t.Error("the CronJob was not removed after its API was back")
	}
}

// deniedWith404 is the answer of a webhook that refuses a request about an object with code 404.
func deniedWith404(req *http.Request, kind, name string) *http.Response {
	return refusal(req, &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: `admission webhook "w.example.com" denied the request: not found in the register`, Details: &metav1.StatusDetails{Name: name, Kind: kind}}})
}

// The author of a webhook chooses the code of a refusal. A 404 must not count as proof that the object is gone.
func TestARemovalThatAWebhookRefusesWith404IsTriedAgain(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	s.wire.answer = func(req *http.Request) *http.Response {
		if req.Method != http.MethodDelete {
			return nil
		}
		return deniedWith404(req, "configmaps", "a")
	}
	s.mustFail(s.leave(), v1alpha1.ReasonRefused, "ConfigMap a")
	s.wire.answer = nil
	s.eventually(s.leave())
	if s.get("v1", "ConfigMap", "a") != nil {
		t.Error("the ConfigMap was not removed after the webhook allowed it")
	}
}

// A wrapper must not count as gone from a member that still has its Delivery.
func TestADeliveryThatAWebhookKeepsWith404IsDeletedLater(t *testing.T) {
	s := newSite(t)
	s.mustDeliver(s.want(configMap("a", "1")))
	s.wire.answer = func(req *http.Request) *http.Response {
		if req.Method != http.MethodDelete || !strings.Contains(req.URL.Path, "/deliveries/") {
			return nil
		}
		return deniedWith404(req, "deliveries", "d")
	}
	for range 3 {
		if out, err := s.push(s.leave()); err == nil && out.Done {
			t.Fatal("the wrapper counts as gone, although the member still has its Delivery")
		}
	}
	s.wire.answer = nil
	s.eventually(s.leave())
}
