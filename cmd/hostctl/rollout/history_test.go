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
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

const hunter = "aHVudGVyMg=="

func secret() *unstructured.Unstructured {
	return build.Manifest("{apiVersion: v1, kind: Secret, metadata: {name: login}, data: {password: %s}}", hunter)
}

// storedRevision returns a revision of web with the content of a wrapper, not encrypted, as the manager would store it.
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

// by sets the user who first wrote the content of a revision.
func by(user string, r *appsv1.ControllerRevision) *appsv1.ControllerRevision {
	metav1.SetMetaDataAnnotation(&r.ObjectMeta, v1alpha1.AnnotationWrittenBy, user)
	return r
}

func again(user string, r *appsv1.ControllerRevision) *appsv1.ControllerRevision {
	metav1.SetMetaDataAnnotation(&r.ObjectMeta, v1alpha1.AnnotationRewrittenBy, user)
	return r
}

// encrypted returns the revision as the manager stores it if the content has a Secret: encrypted.
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

// history returns five revisions. Four belong to web: 1 has other objects, 2 is the last good one, 3 has a Secret and is encrypted, 4 is the
// present one. Revision 7 belongs to another wrapper.
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
		by("system:serviceaccount:argocd:controller", storedRevision(t, "fed-web-4", 4, web(asIs))),
		again("carol", by("alice@example.com", storedRevision(t, "fed-web-2", 2, second))),
		again("", by("bob", encrypted(t, storedRevision(t, "fed-web-3", 3, third), third))),
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
		t.Errorf("error %v; stderr: %s", got.err, got.stderr)
	}
	golden.Equal(t, "history.txt", got.stdout)
	golden.Equal(t, "history.json", historyOf(t, append(history(t), web(paused)), "-o", "json").stdout)

	got = historyOf(t, append(history(t), web(func(w *v1alpha1.Federated) { w.Status.ClustersOmitted = 7 })))
	if !strings.Contains(got.stderr, "leaves out 7 clusters") {
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
			golden.Equal(t, file, got.stdout)
		})
	}
}

func TestHistorySaysWhoMadeARevision(t *testing.T) {
	for name, test := range map[string]struct{ number, says string }{
		"a revision of an earlier version":        {"1", "• revision 1 was made 9h ago, and the host does not know by whom\n"},
		"content that was written again":          {"2", "• revision 2 was made 8h ago by alice@example.com; its content was written again later, last by carol\n"},
		"content that nobody known wrote again":   {"3", "• revision 3 was made 7h ago by bob; its content was written again later, and the host does not know by whom\n"},
		"an account, of content after hidden one": {"4", "• revision 4 was made 6h ago by system:serviceaccount:argocd:controller\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := historyOf(t, append(history(t), web(asIs)), "--revision", test.number); !strings.Contains(got.stderr, test.says) {
				t.Errorf("stderr: %s", got.stderr)
			}
		})
	}
}

// Any program that may write a revision can put control characters into the name of its author. hostctl must not print them.
func TestTheNameInAHistoryCannotActOnATerminal(t *testing.T) {
	list := []client.Object{web(asIs), by("mallory\x1b[2J\nroot", storedRevision(t, "fed-web-4", 4, web(asIs)))}
	for _, args := range [][]string{nil, {"--revision", "4"}, {"-o", "yaml"}} {
		got := historyOf(t, list, args...)
		if all := got.stdout + got.stderr; got.err != nil || strings.Contains(all, "\x1b") || strings.Contains(all, "\nroot") || !strings.Contains(all, "mallory") {
			t.Errorf("%v %v: %q", args, got.err, all)
		}
	}
}

func TestHistoryRefusesAnOutputThatItLacks(t *testing.T) {
	for _, args := range [][]string{{"-o", "wide"}, {"-o", "json", "--revision", "2"}} {
		if got := historyOf(t, append(history(t), web(asIs)), args...); got.code() != exit.Usage || got.stdout != "" {
			t.Errorf("%v: %d %v, %s", args, got.code(), got.err, got.stdout)
		}
	}
}

// operator returns web with a Subscription whose target is the given version.
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
	golden.Equal(t, "history-target.diff", got.stdout)
}

func TestHistoryShowsNothingOfARevisionWithASecret(t *testing.T) {
	inClear := func(t *testing.T) []client.Object { // early versions of Fairlead stored revisions with Secrets unencrypted
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
		"a revision with a Secret":                       {history, "3", exit.Failed, "revision 3: the revision contains a Secret"},
		"a revision after one with a Secret":             {history, "4", exit.Failed, "revision 3: the revision contains a Secret"},
		"a revision with a Secret that is not encrypted": {inClear, "3", exit.Failed, "revision 3: the revision contains a Secret"},
		"the number of a revision that does not exist":   {history, "9", exit.Failed, "there is no revision 9"},
		"0 as the number":                                {history, "0", exit.Usage, "give the number of a revision"},
	} {
		t.Run(name, func(t *testing.T) {
			got := historyOf(t, append(test.list(t), web(asIs)), "--revision", test.number)
			if got.err == nil || got.code() != test.code || !strings.Contains(got.err.Error(), test.says) {
				t.Errorf("got exit code %d and error %v, want code %d and %q", got.code(), got.err, test.code, test.says)
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
