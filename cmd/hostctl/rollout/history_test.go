// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

const hunter = "aHVudGVyMg=="

func secret() *unstructured.Unstructured {
	return build.Manifest("{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: %s}}", hunter)
}

// storedRevision is a revision of web with the content of a wrapper, as the manager writes it without a key.
func storedRevision(t *testing.T, name string, number int64, content *v1alpha1.Federated) *appsv1.ControllerRevision {
	t.Helper()
	r, err := revision.Of(&content.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, CreationTimestamp: ago(time.Duration(10-number) * time.Hour),
		Labels: map[string]string{v1alpha1.LabelUID: "u", v1alpha1.LabelContent: v1alpha1.ContentPlain}},
		Revision: number, Data: runtime.RawExtension{Raw: r.Data}}
}

// encrypted encrypts a revision, as the manager does with one that holds a Secret.
func encrypted(t *testing.T, r *appsv1.ControllerRevision, content *v1alpha1.Federated) *appsv1.ControllerRevision {
	t.Helper()
	key, err := revision.NewHistoryKey(make([]byte, revision.HistoryKeyBytes))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := revision.Of(&content.Spec)
	if err != nil {
		t.Fatal(err)
	}
	if r.Data.Raw, err = key.Encode(plain, "u", r.Name); err != nil {
		t.Fatal(err)
	}
	r.Labels[v1alpha1.LabelContent] = key.Label(plain)
	return r
}

// history are the revisions of web: 1 (with other objects), 2 (the last good one), 3 (with a Secret, encrypted) and 4, the present
// one. Revision 7 is of another wrapper.
func history(t *testing.T) []client.Object {
	t.Helper()
	first := build.Federated("web").With(build.ConfigMap("settings", "color", "red"), build.ConfigMap("gone")).Obj()
	override := build.Override("ConfigMap", "settings")
	override.Patch = []v1alpha1.PatchOperation{build.Patch("add", "/data/size", "big")}
	second := build.Federated("web").With(build.ConfigMap("settings", "color", "blue"), build.ConfigMap("texts")).Overriding(override).Obj()
	third := build.Federated("web").With(secret()).Obj()
	other := storedRevision(t, "fed-other-7", 7, first)
	other.Labels[v1alpha1.LabelUID] = "other"
	return []client.Object{
		storedRevision(t, "fed-web-4", 4, web(asIs)),
		storedRevision(t, "fed-web-2", 2, second),
		encrypted(t, storedRevision(t, "fed-web-3", 3, third), third),
		storedRevision(t, "fed-web-1", 1, first),
		other,
	}
}

func historyOf(t *testing.T, objects []client.Object, args ...string) result {
	t.Helper()
	s := newStreams("")
	o := newHistory(s.IOStreams)
	o.setUp(hostWith(t, objects...))
	return run(t, newHistoryCommand(o), s, append([]string{"web", "-n", "shop"}, args...)...)
}

func TestHistoryListsTheRevisionsOfTheWrapper(t *testing.T) {
	got := historyOf(t, append(history(t), web(paused)))
	if got.err != nil || got.stderr != "" {
		t.Errorf("%v; stderr: %s", got.err, got.stderr)
	}
	golden(t, "history.txt", got.stdout)

	got = historyOf(t, append(history(t), web(func(w *v1alpha1.Federated) { w.Status.ClustersOmitted = 7 })))
	if !strings.Contains(got.stderr, "does not count 7 clusters") {
		t.Errorf("stderr: %s", got.stderr)
	}
}

func TestHistoryShowsWhatARevisionChanged(t *testing.T) {
	for file, number := range map[string]string{"history-1.diff": "1", "history-2.diff": "2"} {
		t.Run(file, func(t *testing.T) {
			got := historyOf(t, append(history(t), web(asIs)), "--revision", number)
			if got.err != nil {
				t.Error(got.err)
			}
			if first := strings.Contains(got.stderr, "no revision before 1"); first != (number == "1") {
				t.Errorf("stderr: %s", got.stderr)
			}
			golden(t, file, got.stdout)
		})
	}
}

// operator wraps a Subscription with a target.
func operator(target string) *v1alpha1.Federated {
	w := web(asIs)
	w.Spec.Objects = []runtime.RawExtension{build.Raw(build.Manifest(`{apiVersion: operators.coreos.com/v1alpha1, kind: Subscription, metadata: {name: db}, spec: {installPlanApproval: Manual}}`))}
	w.Spec.Upgrade.Subscriptions = []v1alpha1.SubscriptionUpgrade{{Name: "db", TargetCSV: target}}
	return w
}

func TestHistoryShowsTheChangeOfATarget(t *testing.T) {
	list := []client.Object{storedRevision(t, "fed-web-1", 1, operator("db.v1.0.0")), storedRevision(t, "fed-web-2", 2, operator("db.v1.1.0"))}
	got := historyOf(t, append(list, operator("db.v1.1.0")), "--revision", "2")
	if got.err != nil {
		t.Error(got.err)
	}
	golden(t, "history-target.diff", got.stdout)
}

func TestHistoryShowsNothingOfARevisionWithASecret(t *testing.T) {
	inClear := func(t *testing.T) []client.Object { // as an early version of Fairlead stored it
		list := history(t)
		list[2] = storedRevision(t, "fed-web-3", 3, build.Federated("web").With(secret()).Obj())
		return list
	}
	for name, test := range map[string]struct {
		list   func(*testing.T) []client.Object
		number string
		code   int
		says   string
	}{
		"the revision itself":       {history, "3", exit.Failed, "revision 3: it holds a Secret"},
		"the one before it":         {history, "4", exit.Failed, "revision 3: it holds a Secret"},
		"stored in clear":           {inClear, "3", exit.Failed, "revision 3: it holds a Secret"},
		"a number that is not kept": {history, "9", exit.Failed, "there is no revision 9"},
		"a number that is none":     {history, "0", exit.Usage, "give the number of a revision"},
	} {
		t.Run(name, func(t *testing.T) {
			got := historyOf(t, append(test.list(t), web(asIs)), "--revision", test.number)
			if got.err == nil || got.code() != test.code || !strings.Contains(got.err.Error(), test.says) {
				t.Errorf("got %d %v, want %d and %q", got.code(), got.err, test.code, test.says)
			}
			if got.stdout != "" {
				t.Errorf("stdout: %s", got.stdout)
			}
		})
	}
}

func TestARevisionWithOtherOrderSaysSo(t *testing.T) {
	swapped := web(asIs)
	swapped.Spec.Objects[0], swapped.Spec.Objects[1] = swapped.Spec.Objects[1], swapped.Spec.Objects[0]
	list := []client.Object{web(asIs), storedRevision(t, "fed-web-4", 4, web(asIs)), storedRevision(t, "fed-web-5", 5, swapped)}
	if got := historyOf(t, list, "--revision", "5"); got.err != nil || got.stdout != "only the order of the objects differs\n" {
		t.Errorf("%v: %s", got.err, got.stdout)
	}
}
