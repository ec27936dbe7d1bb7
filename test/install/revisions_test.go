// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
)

// TestTheManagerWritesRevisionsOfWrappersOnly creates, changes and deletes ControllerRevisions with the manager's token. The API server must refuse the
// revisions of a StatefulSet: a client that could write them could run any pod.
func TestTheManagerWritesRevisionsOfWrappersOnly(t *testing.T) {
	box := shared.Sandbox(t)
	admin, host := connect(t, box, sandbox.HostName)
	apply(t, host, config.CRD, config.RBAC)
	manager, err := client.New(tokenConfig(t, admin, host), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	wrappers := metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Federated", Name: "web", UID: "u"}
	set := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "u", Controller: new(true)}
	marked := map[string]string{v1alpha1.LabelUID: "u", v1alpha1.LabelContent: v1alpha1.ContentPlain}
	revision := func(name string, labels map[string]string, owners ...metav1.OwnerReference) *appsv1.ControllerRevision {
		r := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels, OwnerReferences: owners}}
		r.Data.Raw = []byte(`{"spec":{}}`)
		return r
	}
	eventually(t, "the policy is in force", func(ctx context.Context) bool {
		return apierrors.IsForbidden(manager.Create(ctx, revision("db-1", nil, set), client.DryRunAll))
	})

	for name, tc := range map[string]struct {
		object    *appsv1.ControllerRevision
		words     string // a part of the refusal; "" means that the manager may create the object
		deletable bool   // the manager may delete the object, although it may not create it
	}{
		"owned by a Federated":                         {object: revision("fed-web-1", marked, wrappers)},
		"owned by a ClusterFederated":                  {object: revision("cfed-web-1", marked, metav1.OwnerReference{APIVersion: wrappers.APIVersion, Kind: "ClusterFederated", Name: "web", UID: "u"})},
		"owned by a StatefulSet":                       {revision("fed-db-1", marked, set), "that a wrapper owns", false},
		"owned by a wrapper and a StatefulSet":         {revision("fed-db-1", marked, wrappers, set), "that a wrapper owns", false},
		"marked, without an owner":                     {revision("fed-db-1", marked), "that a wrapper owns", true},
		"not marked, without an owner":                 {revision("fed-db-1", nil), "that a wrapper owns", false},
		"owned by another kind of Fairlead's group":    {revision("fed-db-1", marked, metav1.OwnerReference{APIVersion: wrappers.APIVersion, Kind: "MemberCluster", Name: "east", UID: "u"}), "that a wrapper owns", false},
		"with labels by which a StatefulSet adopts it": {revision("fed-db-1", map[string]string{v1alpha1.LabelUID: "u", "app": "db"}, wrappers), "no labels but those of Fairlead", true},
		"with a name that is not Fairlead's":           {revision("db-1", marked, wrappers), "begins with fed- or cfed-", false},
	} {
		t.Run(name, func(t *testing.T) {
			refused := func(verb, words string, err error) {
				t.Helper()
				if words == "" && err != nil || words != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), words)) {
					t.Errorf("%s: got %v, want %q", verb, err, words)
				}
			}
			refused("creating it", tc.words, manager.Create(t.Context(), tc.object.DeepCopy()))
			// Without the finalizer, the garbage collector would delete the object, because its owner does not exist.
			there := tc.object.DeepCopy()
			there.Name, there.Finalizers = there.Name+"-there", []string{"example.com/test"}
			if err := host.Create(t.Context(), there); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = host.Patch(context.Background(), there, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
				_ = host.Delete(context.Background(), there)
			})
			if tc.deletable {
				tc.words = ""
			}
			refused("deleting it", tc.words, manager.Delete(t.Context(), there.DeepCopy()))
		})
	}

	theManagerAnnotatesRevisionsOnly(t, host, manager, revision("fed-web-2", marked, wrappers), revision("db-2", nil, set))

	// The manager sends such a dry run to learn whether the API server accepts an encrypted revision.
	tried := revision("", marked, wrappers)
	tried.GenerateName = "fairlead-rehearsal-"
	if diff := cmp.Diff(nil, manager.Create(t.Context(), tried, client.DryRunAll)); diff != "" {
		t.Errorf("trying a revision (-want +got):\n%s", diff)
	}
}

// theManagerAnnotatesRevisionsOnly changes a revision of a wrapper and one of a StatefulSet with the manager's token. The API server must
// allow only annotations of the wrapper's revision. If the manager could change labels or owners, it could make a
// StatefulSet adopt the revision.
func theManagerAnnotatesRevisionsOnly(t *testing.T, host, manager client.Client, wrappers, sets *appsv1.ControllerRevision) {
	t.Helper()
	for name, tc := range map[string]struct {
		object *appsv1.ControllerRevision
		patch  string
		words  string // a part of the refusal; "" means that the manager may make the change
	}{
		"an annotation":                    {wrappers, `{"metadata":{"annotations":{"federation.fairlead.dev/rewritten-by":"alice"}}}`, ""},
		"a label":                          {wrappers, `{"metadata":{"labels":{"app":"db"}}}`, "changes only the annotations"},
		"the owners":                       {wrappers, `{"metadata":{"ownerReferences":null}}`, "changes only the annotations"},
		"the number":                       {wrappers, `{"revision":7}`, "changes only the annotations"},
		"a finalizer":                      {wrappers, `{"metadata":{"finalizers":null}}`, "changes only the annotations"},
		"an annotation of a StatefulSet's": {sets, `{"metadata":{"annotations":{"federation.fairlead.dev/rewritten-by":"alice"}}}`, "that a wrapper owns"},
	} {
		t.Run("changing "+name, func(t *testing.T) {
			there := tc.object.DeepCopy()
			there.Finalizers = []string{"example.com/test"}
			if err := host.Create(t.Context(), there); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = host.Patch(context.Background(), there, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
				_ = host.Delete(context.Background(), there)
			})
			err := manager.Patch(t.Context(), there.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(tc.patch)))
			if tc.words == "" && err != nil || tc.words != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.words)) {
				t.Errorf("got %v, want %q", err, tc.words)
			}
		})
	}
}
