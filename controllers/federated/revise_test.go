// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/internal/member"
)

const (
	written, rewritten = v1alpha1.AnnotationWrittenBy, v1alpha1.AnnotationRewrittenBy
	otherObject        = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"}}`
)

// editing is one wrapper that users edit, and the manager that writes its revisions.
type editing struct {
	*testing.T
	client.Client
	r *Reconciler
	w *v1alpha1.Federated
	// taken is the status.upgrade with the versions that the manager took.
	taken v1alpha1.UpgradeStatus
	// forbidden is true if the API server refuses every patch with 403.
	forbidden bool
	patches   int
}

func newEditing(t *testing.T) *editing {
	t.Helper()
	e := &editing{T: t, w: rendered("u", object, 0)}
	e.Client = fake.NewClientBuilder().WithScheme(member.Scheme).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			e.patches++
			if e.forbidden {
				return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "controllerrevisions"}, obj.GetName(), nil)
			}
			return c.Patch(ctx, obj, patch, opts...)
		}}).Build()
	e.restart()
	return e
}

// restart starts a new manager process, which has nothing in memory.
func (e *editing) restart() {
	e.r = &Reconciler{kind: v1alpha1.KindFederated, client: e.Client, live: e.Client, history: testKey(e.T, 1)}
}

// write changes the objects of the wrapper as the given user. Admission then names the user in an annotation. With ""
// as user, the API server does not call the webhook, and the annotation stays as it was.
func (e *editing) write(object, user string) {
	e.Helper()
	e.w.Generation++
	e.w.Spec.Objects = []runtime.RawExtension{{Raw: []byte(object)}}
	if user == "" {
		return
	}
	r, err := revision.Of(&e.w.Spec)
	if err != nil {
		e.Fatal(err)
	}
	e.w.SetAnnotations(map[string]string{v1alpha1.AnnotationAuthor: e.r.history.Attest(web.Kind, web.NamespacedName, r, user)})
}

// revise makes the manager write the revision, and returns the name and the annotations of the revision.
func (e *editing) revise() (string, map[string]string) {
	e.Helper()
	p := &reconciliation{Reconciler: e.r, key: web, wrapper: e.w, now: now, upgrade: e.taken}
	if err := p.revise(e.Context()); err != nil {
		e.Fatal(err)
	}
	found := &appsv1.ControllerRevision{}
	if err := e.Get(e.Context(), client.ObjectKey{Namespace: "shop", Name: p.revision}, found); err != nil {
		e.Fatal(err)
	}
	return p.revision, found.Annotations
}

// reported writes the revision to the wrapper's status, as a finished reconcile does.
func (e *editing) reported(name string) { e.w.Status.UpdateRevision = name }

func (e *editing) expect(what string, want map[string]string) string {
	e.Helper()
	name, got := e.revise()
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("%s (-want +got):\n%s", what, diff)
	}
	return name
}

func TestARevisionNamesItsAuthor(t *testing.T) {
	e := newEditing(t)
	e.write(object, "alice")
	first := e.expect("the first content", map[string]string{written: "alice"})
	e.reported(first)

	e.write(otherObject, "bob")
	second := e.expect("the second content", map[string]string{written: "bob"})
	e.restart()
	e.expect("after a death before the status", map[string]string{written: "bob"})
	e.reported(second)
	if e.patches > 0 {
		t.Errorf("%d patches of revisions that were written once", e.patches)
	}

	e.write(object, "carol")
	if again := e.expect("after an undo", map[string]string{written: "alice", rewritten: "carol"}); again != first {
		t.Errorf("the revision is %s, not %s", again, first)
	}
	e.restart()
	e.expect("after a death before the status", map[string]string{written: "alice", rewritten: "carol"})
	e.reported(first)
	if e.patches != 1 {
		t.Errorf("%d patches of a revision that was written again once", e.patches)
	}

	e.write(otherObject, "bob")
	e.reported(e.expect("content that its own author writes again", map[string]string{written: "bob"}))
	e.write(object, "alice")
	e.expect("content that its first author writes again after another", map[string]string{written: "alice", rewritten: "alice"})
}

func TestAnEditThatBypassedAdmissionNamesNobody(t *testing.T) {
	e := newEditing(t)
	e.write(object, "alice")
	e.reported(e.expect("through admission", map[string]string{written: "alice"}))

	e.write(otherObject, "")
	e.reported(e.expect("the annotation of the content before", nil))

	e.write(object, "bob")
	e.reported(e.expect("again, through admission", map[string]string{written: "alice", rewritten: "bob"}))
	e.write(otherObject, "")
	e.reported(e.expect("again, without admission", nil))
	e.write(object, "")
	e.w.Annotations[v1alpha1.AnnotationAuthor] = strings.Replace(e.w.Annotations[v1alpha1.AnnotationAuthor], "bob", "mallory", 1)
	e.expect("again, with a forged annotation", map[string]string{written: "alice", rewritten: ""})
}

// With `approve: Latest`, an edit by a user makes a revision that names the user. A version that the manager takes makes
// a revision without an author.
func TestAnEditNamesItsAuthorAndAVersionNobody(t *testing.T) {
	e := newEditing(t)
	e.w.Spec.Upgrade.Subscriptions = []v1alpha1.SubscriptionUpgrade{{Name: "a", Approve: v1alpha1.ApproveLatest}}
	version := func(csv string) {
		e.taken = v1alpha1.UpgradeStatus{Subscriptions: []v1alpha1.SubscriptionVersion{{Name: "a", CSV: csv}}}
	}
	version("a.v1.0.0")
	e.write(object, "alice")
	e.reported(e.expect("an edit after a version", map[string]string{written: "alice"}))
	e.w.Status.ObservedGeneration = e.w.Generation
	version("a.v1.1.0")
	e.reported(e.expect("another version of the same content", nil))
	e.write(otherObject, "bob")
	e.expect("another edit", map[string]string{written: "bob"})
}

// The manager may still have the RBAC roles of an earlier version, which do not allow the patch that records a
// second author. The change has to reach the members all the same.
func TestAMissingPermissionKeepsNoChangeFromTheMembers(t *testing.T) {
	e := newEditing(t)
	e.write(object, "alice")
	e.reported(e.expect("the first content", map[string]string{written: "alice"}))
	e.write(otherObject, "bob")
	e.reported(e.expect("the second content", map[string]string{written: "bob"}))
	e.forbidden = true
	e.write(object, "carol")
	e.expect("after an undo", map[string]string{written: "alice"})
	if e.patches != 1 {
		t.Errorf("%d patches", e.patches)
	}
}

// Two revisions with the same content are the same revision, whoever wrote it. So the author's name must not be part of
// the content, which also reaches the members.
func TestTheAuthorIsNoPartOfTheRevision(t *testing.T) {
	e := newEditing(t)
	e.write(object, "alice")
	first, _ := e.revise()
	e.w.SetAnnotations(nil)
	if second, _ := e.revise(); second != first {
		t.Errorf("the revision is %s with an author, and %s without one", first, second)
	}
}
