// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

// latest returns web with a Subscription that has `approve: Latest`. csv is the version that the manager has taken, or "" for a spec
// without one.
func latest(csv string) *v1alpha1.Federated {
	w := operator(csv)
	w.Spec.Upgrade.Subscriptions[0].Approve = v1alpha1.ApproveLatest
	return w
}

// latestHistory returns the wrapper, a revision of the spec before, and three revisions of the present spec: without a version, with
// v1.0.0 and with v1.1.0.
func latestHistory(t *testing.T, before *v1alpha1.Federated) []client.Object {
	t.Helper()
	w := latest("")
	w.Status.UpdateRevision = "fed-web-2c"
	w.Status.Upgrade.Subscriptions = []v1alpha1.SubscriptionVersion{{Name: "db", CSV: "db.v1.1.0", Since: ago(0),
		Reason: v1alpha1.ReasonVersionsDiffer, Message: "db.v1.2.0 on east, db.v1.1.0 on north"}}
	w.Status.Rollout.LastGoodRevision, w.Status.Rollout.Failure = "", v1alpha1.RolloutFailure{}
	return []client.Object{w, storedRevision(t, "fed-web-1", 1, before), storedRevision(t, "fed-web-2a", 2, latest("")),
		storedRevision(t, "fed-web-2b", 2, latest("db.v1.0.0")), storedRevision(t, "fed-web-2c", 2, latest("db.v1.1.0"))}
}

func TestHistoryShowsEachVersionThatWasTaken(t *testing.T) {
	got := historyOf(t, latestHistory(t, operator("db.v0.9.0")), "--revision", "2")
	if got.err != nil {
		t.Fatal(got.err)
	}
	golden.Equal(t, "history-latest.diff", got.stdout)
}

// With `approve: Latest` the versions are not in the spec. So undo cannot take back a version, and must not write one into the spec.
func TestUndoWritesNoVersionThatTheManagerTook(t *testing.T) {
	first := operator("db.v0.9.0")
	for name, tc := range map[string]struct {
		args           []string
		target, stderr string
	}{
		"the spec before the versions":        {[]string{"--yes"}, "db.v0.9.0", "has the content of revision 1"},
		"a revision with an earlier version":  {[]string{"--yes", "--to-revision", "2"}, "", "undo does not take back a version that the manager took"},
		"the spec before the versions, asked": {[]string{"--yes", "--to-revision", "1"}, "db.v0.9.0", "has the content of revision 1"},
	} {
		t.Run(name, func(t *testing.T) {
			host := hostWith(t, latestHistory(t, first)...)
			got := undoOn(t, host, "", tc.args...)
			if got.err != nil || !strings.Contains(got.stderr, tc.stderr) {
				t.Errorf("%v; stderr: %s", got.err, got.stderr)
			}
			w := &v1alpha1.Federated{}
			if err := host.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, w); err != nil {
				t.Fatal(err)
			}
			if s := w.Spec.Upgrade.Subscriptions[0]; s.TargetCSV != tc.target || (s.Approve == "") != (tc.target != "") {
				t.Errorf("the spec has %+v", s)
			}
		})
	}
}

func TestUndoFromAVersionGoesBackToTheSpecWithoutOne(t *testing.T) {
	list := latestHistory(t, operator("db.v0.9.0"))
	present := operator("db.v1.1.0") // the author has replaced approve: Latest by a fixed version
	present.Status.UpdateRevision, present.Status.Rollout.LastGoodRevision = "fed-web-3", ""
	list[0] = present
	host := hostWith(t, append(list, storedRevision(t, "fed-web-3", 3, present))...)
	if got := undoOn(t, host, "", "--yes"); got.err != nil {
		t.Fatal(got.err)
	}
	w := &v1alpha1.Federated{}
	if err := host.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, w); err != nil {
		t.Fatal(err)
	}
	if s := w.Spec.Upgrade.Subscriptions[0]; s.TargetCSV != "" || s.Approve != v1alpha1.ApproveLatest {
		t.Errorf("the spec has %+v", s)
	}
}

func TestStatusShowsTheVersionsThatWereTaken(t *testing.T) {
	for name, tc := range map[string]struct {
		is   v1alpha1.SubscriptionVersion
		want string
	}{
		"none yet": {v1alpha1.SubscriptionVersion{Name: "db", Reason: v1alpha1.ReasonVersionPending, Message: "OLM offers no version yet on east"},
			"Subscription db: the manager has taken no version yet; OLM offers no version yet on east (VersionPending)\n"},
		"one": {v1alpha1.SubscriptionVersion{Name: "db", CSV: "db.v1.1.0", Since: ago(0)}, "Subscription db: the manager took db.v1.1.0 0s ago\n"},
		"one, while members differ": {latestHistory(t, latest(""))[0].(*v1alpha1.Federated).Status.Upgrade.Subscriptions[0],
			"Subscription db: the manager took db.v1.1.0 0s ago; db.v1.2.0 on east, db.v1.1.0 on north (VersionsDiffer)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := versionWords(&tc.is, ago(0).Time); got != tc.want {
				t.Errorf("%q, not %q", got, tc.want)
			}
		})
	}
}
