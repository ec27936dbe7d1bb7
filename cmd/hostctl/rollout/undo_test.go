// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/rollout/revisions"
	"github.com/fairlead-dev/fairlead/federate/revision"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

func undoOn(t *testing.T, host client.Client, answer string, args ...string) result {
	t.Helper()
	s := newStreams(answer)
	o := newUndo(s.IOStreams)
	o.setUp(host)
	o.CanAsk = func() bool { return answer != "" }
	return run(t, newUndoCommand(o), s, append([]string{"web", "-n", "shop"}, args...)...)
}

// contentOnHost returns the hash of the revision that the present spec of web has.
func contentOnHost(t *testing.T, host client.Client) string {
	t.Helper()
	w := &v1alpha1.Federated{}
	if err := host.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, w); err != nil {
		t.Fatal(err)
	}
	if len(w.Spec.Rollout.Waves) != 2 {
		t.Errorf("undo changed spec.rollout: %+v", w.Spec.Rollout)
	}
	r, err := revision.Of(&w.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return r.Hash
}

func TestUndoWritesTheContentOfAnEarlierRevision(t *testing.T) {
	good := func(w *v1alpha1.Federated) { w.Status.Rollout.LastGoodRevision = w.Status.UpdateRevision }
	never := func(w *v1alpha1.Federated) {
		w.Status.Rollout.LastGoodRevision, w.Status.UpdateRevision = "", "fed-web-2"
	}
	for name, test := range map[string]struct {
		change func(*v1alpha1.Federated)
		answer string
		args   []string
		want   int // the index in history of the revision that undo must write; -1 if undo must write nothing
		code   int
		says   string
	}{
		"the last good one":              {paused, "y\n", nil, 1, exit.Done, "Write revision 2 as the spec of Federated shop/web? The change goes out as spec.rollout says."},
		"the one before the present one": {never, "y\n", nil, 3, exit.Done, "revision 1"},
		"one by its number":              {good, "y\n", []string{"--to-revision", "1"}, 3, exit.Done, "✓ Federated shop/web has the content of revision 1\n"},
		"without a question":             {paused, "", []string{"--yes"}, 1, exit.Done, "of revision 2\n"},
		"a dry run":                      {paused, "", []string{"--dry-run"}, -1, exit.Done, "of revision 2 (dry run)\n"},
		"the answer is no":               {paused, "n\n", nil, -1, exit.Failed, "nothing was done"},
		"in a pipe":                      {paused, "", nil, -1, exit.Usage, "give --yes"},
		"the present one":                {paused, "y\n", []string{"--to-revision", "4"}, -1, exit.Done, "has the content of revision 4 already"},
		"one with a Secret":              {paused, "y\n", []string{"--to-revision", "3"}, -1, exit.Failed, "revision 3: the revision contains a Secret"},
		"the one before has a Secret":    {good, "y\n", nil, -1, exit.Failed, "revision 3: the revision contains a Secret"},
		"one that is not kept":           {paused, "y\n", []string{"--to-revision", "9"}, -1, exit.Failed, "there is no revision 9"},
		"none before the present one": {func(w *v1alpha1.Federated) {
			w.Status.Rollout.LastGoodRevision, w.Status.UpdateRevision = "", "fed-web-1"
		}, "y\n", nil, -1, exit.Failed, "`hostctl rollout history web -n shop` lists"},
		"a status of an earlier spec": {func(w *v1alpha1.Federated) { w.Generation++ }, "y\n", nil, -1, exit.Failed, "has not acted on the present spec yet"},
		"an agent writes it back": {managedBy("kustomize-controller", `"f:objects":{},"f:placement":{}`), "y\n", nil, 1, exit.Done,
			"kustomize-controller manages spec.objects of this wrapper and will overwrite this change"},
	} {
		t.Run(name, func(t *testing.T) {
			list := history(t)
			host := hostWith(t, append(list, web(test.change))...)
			before := contentOnHost(t, host)
			got := undoOn(t, host, test.answer, test.args...)
			said := got.stdout + got.stderr
			if got.err != nil {
				said += got.err.Error()
			}
			if got.code() != test.code || !strings.Contains(said, test.says) {
				t.Errorf("code %d, want %d and %q in:\n%s", got.code(), test.code, test.says, said)
			}
			want := before
			if test.want >= 0 {
				stored := &v1alpha1.Federated{}
				r := list[test.want].(*appsv1.ControllerRevision)
				content, err := revisions.ContentOf(stored, r)
				if err != nil {
					t.Fatal(err)
				}
				want = content.Hash
			}
			if is := contentOnHost(t, host); is != want {
				t.Errorf("the content on the host has hash %s, want %s", is, want)
			}
		})
	}
}

func TestUndoRestoresTheTarget(t *testing.T) {
	for name, tc := range map[string]struct{ was, want string }{
		"an earlier target": {"db.v1.0.0", "db.v1.0.0"},
		"none":              {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			before := operator(tc.was)
			if tc.was == "" {
				before.Spec.Upgrade = v1alpha1.Upgrade{}
			}
			present := operator("db.v1.1.0")
			present.Spec.Upgrade.Rollback = v1alpha1.RollbackReinstall
			host := hostWith(t, storedRevision(t, "fed-web-1", 1, before), storedRevision(t, "fed-web-2", 2, operator("db.v1.1.0")), present)
			if got := undoOn(t, host, "", "--yes", "--to-revision", "1"); got.err != nil || !strings.Contains(got.stdout, "upgrade (present spec)") {
				t.Errorf("%v; stdout: %s", got.err, got.stdout)
			}
			w := &v1alpha1.Federated{}
			if err := host.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, w); err != nil {
				t.Fatal(err)
			}
			target := ""
			for _, s := range w.Spec.Upgrade.Subscriptions {
				target = s.TargetCSV
			}
			if target != tc.want {
				t.Errorf("the target is %q, want %q", target, tc.want)
			}
			if kept := w.Spec.Upgrade.Reinstalls(); kept != (tc.want != "") {
				t.Errorf("the policy rollback: Reinstall is kept: %v", kept)
			}
		})
	}
}

func TestUndoShowsTheDifference(t *testing.T) {
	got := undoOn(t, hostWith(t, append(history(t), web(paused))...), "", "--dry-run")
	golden.Equal(t, "undo.diff", got.stdout)
}

func TestUndoShowsNoSecretOfThePresentSpec(t *testing.T) {
	w := web(paused)
	w.Spec.Objects = append(w.Spec.Objects, build.Raw(secret()))
	got := undoOn(t, hostWith(t, append(history(t), w)...), "y\n")
	if got.err != nil || got.stdout != "" || strings.Contains(got.stderr, hunter) || !strings.Contains(got.stderr, "does not show the difference") {
		t.Errorf("%v; stdout: %s\nstderr: %s", got.err, got.stdout, got.stderr)
	}
}

func TestUndoWritesNothingOverAnEditOfTheSameMoment(t *testing.T) {
	host := hostWith(t, append(history(t), web(paused))...)
	before := contentOnHost(t, host)
	racing := interceptor.NewClient(host, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			other := &v1alpha1.Federated{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(obj), other); err != nil {
				return err
			}
			other.Spec.Suspend = v1alpha1.SuspendRollout
			if err := c.Update(ctx, other); err != nil {
				return err
			}
			return c.Patch(ctx, obj, patch, opts...)
		},
	})
	got := undoOn(t, racing, "y\n")
	if got.code() != exit.Failed || !strings.Contains(got.err.Error(), "another program changed the wrapper at the same time") {
		t.Errorf("got %v", got.err)
	}
	if contentOnHost(t, host) != before {
		t.Error("the content was written")
	}
}
