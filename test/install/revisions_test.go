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

// TestTheManagerWritesRevisionsOfWrappersOnly has a client with the manager's token create and delete ControllerRevisions. With one of a
// StatefulSet it could run a pod of its choice.
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
		words     string // of the refusal; "" = allowed
		deletable bool   // although the manager may not create it
	}{
		"of a Federated":               {object: revision("fed-web-1", marked, wrappers)},
		"of a ClusterFederated":        {object: revision("cfed-web-1", marked, metav1.OwnerReference{APIVersion: wrappers.APIVersion, Kind: "ClusterFederated", Name: "web", UID: "u"})},
		"of a StatefulSet":             {revision("fed-db-1", marked, set), "that a wrapper owns", false},
		"of both":                      {revision("fed-db-1", marked, wrappers, set), "that a wrapper owns", false},
		"that lost its wrapper":        {revision("fed-db-1", marked), "that a wrapper owns", true},
		"of no owner":                  {revision("fed-db-1", nil), "that a wrapper owns", false},
		"of another kind of the group": {revision("fed-db-1", marked, metav1.OwnerReference{APIVersion: wrappers.APIVersion, Kind: "MemberCluster", Name: "east", UID: "u"}), "that a wrapper owns", false},
		"that a StatefulSet adopts":    {revision("fed-db-1", map[string]string{v1alpha1.LabelUID: "u", "app": "db"}, wrappers), "no labels but those of Fairlead", true},
		"with the name of another's":   {revision("db-1", marked, wrappers), "begins with fed- or cfed-", false},
	} {
		t.Run(name, func(t *testing.T) {
			refused := func(verb, words string, err error) {
				t.Helper()
				if words == "" && err != nil || words != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), words)) {
					t.Errorf("%s: got %v, want %q", verb, err, words)
				}
			}
			refused("creating it", tc.words, manager.Create(t.Context(), tc.object.DeepCopy()))
			// The garbage collector deletes an object whose owner does not exist. A finalizer keeps it for the test.
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

	// An encrypted revision is tried with a generated name.
	tried := revision("", marked, wrappers)
	tried.GenerateName = "fairlead-rehearsal-"
	if diff := cmp.Diff(nil, manager.Create(t.Context(), tried, client.DryRunAll)); diff != "" {
		t.Errorf("trying a revision (-want +got):\n%s", diff)
	}
}
