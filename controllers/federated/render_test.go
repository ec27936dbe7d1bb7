// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides"
)

func rendered(uid types.UID, object string, generation int64) *v1alpha1.Federated {
	w := wrapper(uid, "1", generation)
	w.Spec.Objects = []runtime.RawExtension{{Raw: []byte(object)}}
	w.Spec.Placement.Clusters = &v1alpha1.ClusterSelection{Names: []string{"east"}}
	return w
}

const object = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}`

// none is the status.upgrade of a wrapper without `approve: Latest`.
var none = &v1alpha1.UpgradeStatus{}

// taken returns a status.upgrade in which the manager has taken this version for Subscription a.
func taken(csv string) *v1alpha1.UpgradeStatus {
	return &v1alpha1.UpgradeStatus{Subscriptions: []v1alpha1.SubscriptionVersion{{Name: "a", CSV: csv}}}
}

func TestARendererServesOneGenerationOfOneWrapper(t *testing.T) {
	var r renderers
	first, err := r.of(web, rendered("u", object, 1), rendered("u", object, 1), none)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		w     *v1alpha1.Federated
		taken *v1alpha1.UpgradeStatus
		same  bool
	}{
		"the same generation":         {rendered("u", object, 1), none, true},
		"another generation":          {rendered("u", object, 2), none, false},
		"another version":             {rendered("u", object, 1), taken("a.v1.0.0"), false},
		"a wrapper that is made anew": {rendered("v", object, 1), none, false},
	} {
		t.Run(name, func(t *testing.T) {
			var mine renderers
			if _, err := mine.of(web, rendered("u", object, 1), rendered("u", object, 1), none); err != nil {
				t.Fatal(err)
			}
			before := mine.byKey[web]
			if _, err := mine.of(web, test.w, test.w, test.taken); err != nil {
				t.Fatal(err)
			}
			if same := mine.byKey[web] == before; same != test.same {
				t.Errorf("that the renderer is reused is %v, want the opposite", same)
			}
		})
	}
	r.forget(web)
	again, err := r.of(web, rendered("u", object, 1), rendered("u", object, 1), none)
	if err != nil || again == first {
		t.Errorf("the renderer is still there after forget (%v)", err)
	}
}

// A wrapper can bypass the webhook, so the loop validates the spec too. It remembers the error for this generation of
// the spec.
func TestASpecThatBypassedTheWebhookIsValidated(t *testing.T) {
	var r renderers
	const elsewhere = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"kube-system"}}`
	for range 2 {
		if _, err := r.of(web, rendered("u", elsewhere, 1), rendered("u", elsewhere, 1), none); err == nil {
			t.Error("an object of another namespace is rendered")
		}
	}
	if _, err := r.of(web, rendered("u", object, 2), rendered("u", object, 2), none); err != nil {
		t.Errorf("a mended spec: %v", err)
	}
}

func TestWhichNewsOfAMemberConcernsWrappers(t *testing.T) {
	base := &v1alpha1.MemberCluster{}
	base.Generation, base.Labels = 1, map[string]string{"cloud": "aws"}
	for name, test := range map[string]struct {
		change func(*v1alpha1.MemberCluster)
		want   bool
	}{
		"nothing":    {func(*v1alpha1.MemberCluster) {}, false},
		"its status": {func(m *v1alpha1.MemberCluster) { m.Status.KubernetesVersion = "v2" }, false},
		"a label":    {func(m *v1alpha1.MemberCluster) { m.Labels = map[string]string{"cloud": "gcp"} }, true},
		"its spec":   {func(m *v1alpha1.MemberCluster) { m.Generation = 2 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			is := base.DeepCopy()
			test.change(is)
			if got := placementChanged.Update(event.UpdateEvent{ObjectOld: base, ObjectNew: is}); got != test.want {
				t.Errorf("the change wakes wrappers: %v", got)
			}
		})
	}
}

// When the manager stops, a reconcile must not go on to render for the remaining members.
func TestRenderingEndsBetweenMembersWithItsContext(t *testing.T) {
	p := &reconciliation{Reconciler: &Reconciler{}, key: web, wrapper: rendered("u", object, 1), members: map[string]*v1alpha1.MemberCluster{"east": {}}}
	p.decision.Status.Clusters = []string{"east"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.render(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := p.render(t.Context()); err != nil || p.desired["east"] == nil {
		t.Errorf("rendering with a context that is not done returned %v", err)
	}
}

func TestOverridesThatAreTooCostlyHaveAReasonOfTheirOwn(t *testing.T) {
	for want, err := range map[string]error{
		v1alpha1.ReasonOverrideTooCostly: fmt.Errorf("rendering: %w", overrides.ErrTooCostly),
		v1alpha1.ReasonOverrideInvalid:   &overrides.Error{Problem: "the path is not there"},
	} {
		if got := refusal(err); got.Reason != want || got.Message != err.Error() {
			t.Errorf("got %+v, want %s", got, want)
		}
	}
}
