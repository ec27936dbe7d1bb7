// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/rollout/preview"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

// dryRunOnly returns a client for the host that permits no write except a create or an update in a dry run. Any other write fails the test.
// If refused is not nil, creates and updates return that error.
func dryRunOnly(t *testing.T, host client.Client, refused error) client.Client {
	t.Helper()
	inner, ok := host.(client.WithWatch)
	if !ok {
		t.Fatalf("%T is no client that an interceptor takes", host)
	}
	check := func(dryRun []string) error {
		if len(dryRun) != 1 || dryRun[0] != metav1.DryRunAll {
			t.Errorf("a write that is no dry run: %q", dryRun)
		}
		return refused
	}
	return interceptor.NewClient(inner, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := check((&client.CreateOptions{}).ApplyOptions(opts).DryRun); err != nil {
				return err
			}
			return c.Create(ctx, obj, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if err := check((&client.UpdateOptions{}).ApplyOptions(opts).DryRun); err != nil {
				return err
			}
			return c.Update(ctx, obj, opts...)
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			t.Error("a patch")
			return nil
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
			t.Error("a delete")
			return nil
		},
	})
}

// previewOf runs `rollout preview` in an empty folder. If file is not nil, the folder has the wrapper in a file web.yaml.
func previewOf(t *testing.T, host client.Client, refused error, file client.Object, args ...string) result {
	t.Helper()
	kubeconfig, err := filepath.Abs("testdata/kubeconfig.yaml")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if file != nil {
		content, err := yaml.Marshal(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "web.yaml"), content, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBECONFIG", kubeconfig)
	s := newStreams("")
	o := newPreview(s.IOStreams)
	o.setUp(dryRunOnly(t, host, refused))
	before, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder) // messages then name the file as web.yaml, without a path
	defer t.Chdir(before)
	return run(t, newPreviewCommand(o), s, args...)
}

// inFile returns the wrapper web with a change, without the fields that only a wrapper on the host has.
func inFile(change func(*v1alpha1.Federated)) *v1alpha1.Federated {
	w := web(asIs)
	w.UID, w.Generation, w.Status = "", 0, v1alpha1.WrapperStatus{}
	change(w)
	return w
}

// everywhere sets the status of web to that of a finished rollout: each member has the update revision.
func everywhere(w *v1alpha1.Federated) {
	finished(w)
	w.Status.Placement.Leaving, w.Status.Clusters = nil, w.Status.Clusters[1:]
	for i := range w.Status.Clusters {
		w.Status.Clusters[i].Revision, w.Status.Clusters[i].Reason = "fed-web-4", ""
	}
}

func withObjects(w *v1alpha1.Federated, from *v1alpha1.Federated) { w.Spec.Objects = from.Spec.Objects }

func TestPreviewShowsTheWavesAndWhatChanges(t *testing.T) {
	red := func(w *v1alpha1.Federated) {
		withObjects(w, build.Federated("").With(build.ConfigMap("settings", "color", "red"), build.ConfigMap("fresh")).Obj())
	}
	for file, test := range map[string]struct {
		onHost func(*v1alpha1.Federated)
		file   *v1alpha1.Federated
		args   []string
	}{
		"preview.txt":         {asIs, nil, []string{"web", "-n", "shop"}},
		"preview-begun.txt":   {func(w *v1alpha1.Federated) { w.Status.Rollout.Begun = v1alpha1.Yes }, nil, []string{"web", "-n", "shop"}},
		"preview.json":        {asIs, nil, []string{"web", "-n", "shop", "-o", "json"}},
		"preview-change.txt":  {asIs, inFile(red), []string{"-f", "web.yaml"}},
		"preview-change.yaml": {asIs, inFile(red), []string{"-f", "web.yaml", "-o", "yaml"}},
		"preview-same.txt":    {everywhere, inFile(asIs), []string{"-f", "web.yaml"}},
		"preview-new.txt": {func(w *v1alpha1.Federated) { w.Name = "other" }, inFile(func(w *v1alpha1.Federated) {
			w.Namespace = "" // the command has to take the namespace from the kubeconfig
			w.Spec.Suspend = v1alpha1.SuspendRollout
			w.Spec.Rollout.MaxUnavailable = amount("34%")
			w.Spec.Rollout.Waves[0].SoakSeconds, w.Spec.Rollout.Waves[1].MaxConcurrent = new(int32(1800)), amount("1")
			w.Spec.Rollout.Waves[1].MaxFailures = new(int32(1))
		}), []string{"-f", "web.yaml", "-n", "shop"}},
		"preview-at-once.txt": {asIs, inFile(func(w *v1alpha1.Federated) {
			w.Spec.Rollout = v1alpha1.Rollout{}
			withObjects(w, build.Federated("").With(build.ConfigMap("texts")).Obj())
			w.Spec.OnDelete = v1alpha1.KeepAll
		}), []string{"-f", "web.yaml"}},
		"preview-placement.txt": {everywhere, inFile(func(w *v1alpha1.Federated) {
			w.Spec.Placement.Clusters.Names = []string{"south", "west", "moon"}
			w.Spec.Rollout.MaxRemoval = amount("1")
		}), []string{"-f", "web.yaml"}},
	} {
		t.Run(file, func(t *testing.T) {
			got := previewOf(t, hostWith(t, append(history(t), web(test.onHost))...), nil, asObject(test.file), test.args...)
			if got.err != nil || got.stderr != "" {
				t.Errorf("%v; stderr: %s", got.err, got.stderr)
			}
			golden.Equal(t, file, got.stdout)
		})
	}
}

func TestPreviewTellsWhatAReinstallRemovesAndWhatStays(t *testing.T) {
	const want = "reinstalled: db.v1.1.0 is later than target db.v1.0.0: the manager, if it runs with --reinstall-operators, removes Subscription db and the ClusterServiceVersions of " +
		"its operator, and creates the Subscription again; CRDs and custom resources stay; no operator runs in between"
	present := operator("db.v1.1.0")
	everywhere(present)
	for _, policy := range []v1alpha1.UpgradeRollback{"", v1alpha1.RollbackNever, v1alpha1.RollbackReinstall} {
		file := operator("db.v1.0.0")
		file.Spec.Upgrade.Rollback = policy
		file.UID, file.Generation, file.Status = "", 0, v1alpha1.WrapperStatus{}
		got := previewOf(t, hostWith(t, append(history(t), present)...), nil, file, "-f", "web.yaml")
		if got.err != nil {
			t.Fatal(got.err)
		}
		if tells := strings.Contains(got.stdout, want); tells != (policy == v1alpha1.RollbackReinstall) {
			t.Errorf("with rollback: %s it prints:\n%s", policy, got.stdout)
		}
	}
}

func amount(text string) *intstr.IntOrString { return new(intstr.Parse(text)) }

func asObject(w *v1alpha1.Federated) client.Object {
	if w == nil {
		return nil
	}
	return w
}

func TestPreviewShowsOtherMembersWhenOneCannotBeRendered(t *testing.T) {
	broken := inFile(func(w *v1alpha1.Federated) {
		override := build.Override("ConfigMap", "settings")
		override.Clusters = &v1alpha1.ClusterSelection{Names: []string{"north", "south"}}
		override.Patch = []v1alpha1.PatchOperation{build.Patch("replace", "/data/none", "big")}
		w.Spec.Overrides = []v1alpha1.Override{override}
	})
	got := previewOf(t, hostWith(t, append(history(t), web(asIs))...), nil, broken, "-f", "web.yaml")
	if got.code() != exit.Failed || !strings.Contains(got.err.Error(), "for north, south: overrides[0].patch[0]") {
		t.Errorf("%d %v", got.code(), got.err)
	}
	golden.Equal(t, "preview-broken.txt", got.stdout)
}

// Values of a Secret can get into a preview through an object, an annotation, an override or an error. preview must show none of them.
func TestPreviewShowsNoValueOfASecret(t *testing.T) {
	const other = "b3RoZXI="
	changed := func(w *v1alpha1.Federated) {
		withObjects(w, build.Federated("").With(build.Manifest(
			`{apiVersion: v1, kind: Secret, metadata: {name: login, annotations: {note: %s}}, data: {password: %s, user: %s}}`, other, other, other)).Obj())
	}
	held := func(w *v1alpha1.Federated) { // every member has the present spec, which has a Secret
		withObjects(w, build.Federated("").With(secret()).Obj())
		for i := range w.Status.Clusters {
			w.Status.Clusters[i].Revision, w.Status.Clusters[i].Reason = "fed-web-4", ""
		}
	}
	ofOlder := func(w *v1alpha1.Federated) { held(w); w.Status.Clusters[1].Revision = "fed-web-3" }
	for name, test := range map[string]struct {
		onHost func(*v1alpha1.Federated)
		says   string
	}{
		"of the present spec":            {held, "changed Secret login: data.password, data.user, metadata.annotations (contains a Secret, so hostctl shows no value)"},
		"of a revision":                  {ofOlder, "  north: may change, because hostctl cannot tell what the cluster has now: revision 3: the revision contains a Secret"},
		"of a wrapper without any":       {finished, "added   Secret login\n    dropped ConfigMap settings"},
		"of a wrapper that is not there": {func(w *v1alpha1.Federated) { w.Name = "other" }, "  east: new, gets\n    added   Secret login"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, output := range []string{"", "json", "yaml"} {
				got := previewOf(t, hostWith(t, append(history(t), web(test.onHost))...), nil, inFile(changed), "-f", "web.yaml", "-o", output)
				if got.err != nil || output == "" && !strings.Contains(got.stdout, test.says) {
					t.Errorf("%v; want %q in:\n%s", got.err, test.says, got.stdout)
				}
				for _, value := range []string{other, hunter, "other", "hunter2"} {
					if strings.Contains(strings.ReplaceAll(got.stdout+got.stderr, "another", ""), value) {
						t.Errorf("-o %q shows %q:\n%s", output, value, got.stdout)
					}
				}
			}
		})
	}
}

func TestPreviewSaysWhatTheHostCannotTell(t *testing.T) {
	for name, test := range map[string]struct {
		onHost func(*v1alpha1.Federated)
		says   string
	}{
		"a revision that is gone":    {func(w *v1alpha1.Federated) { w.Status.Clusters[1].Revision = "fed-web-0" }, "north: may change, because hostctl cannot tell what the cluster has now: the host has no revision fed-web-0 any more"},
		"a member that was not read": {func(w *v1alpha1.Federated) { w.Status.Clusters[1].State = v1alpha1.StateUnknown }, "north: may change, because hostctl cannot tell what the cluster has now: the manager has not read the cluster"},
		"a line that was left out": {func(w *v1alpha1.Federated) {
			w.Status.Clusters, w.Status.ClustersOmitted = w.Status.Clusters[:1], 3
		}, "north, south: may change, because hostctl cannot tell what the cluster has now: the status of the wrapper has no line"},
		"the same revision, rendered before a label changed": {func(w *v1alpha1.Federated) { w.Status.Clusters[1].Revision = "fed-web-4" },
			"north: may change, because hostctl cannot tell what the cluster has now: the cluster still has objects that Fairlead rendered from the same revision"},
		"a member that waits for its first revision": {func(w *v1alpha1.Federated) { w.Status.Clusters[1].Revision = "" }, "north: new, gets"},
	} {
		t.Run(name, func(t *testing.T) {
			got := previewOf(t, hostWith(t, append(history(t), web(test.onHost))...), nil, nil, "web", "-n", "shop")
			if got.err != nil || !strings.Contains(got.stdout, test.says) {
				t.Errorf("%v; want %q in:\n%s", got.err, test.says, got.stdout)
			}
		})
	}
}

func TestPreviewRefuses(t *testing.T) {
	kind := schema.GroupKind{Group: v1alpha1.Group, Kind: "Federated"}
	resource := schema.GroupResource{Group: v1alpha1.Group, Resource: "federateds"}
	elsewhere := build.ConfigMap("texts")
	elsewhere.SetNamespace("elsewhere")
	broken := inFile(func(w *v1alpha1.Federated) { withObjects(w, build.Federated("").With(elsewhere).Obj()) })
	for name, test := range map[string]struct {
		refused error
		file    *v1alpha1.Federated
		args    []string
		code    int
		says    string
	}{
		"neither a name nor a file":   {nil, nil, nil, exit.Usage, "give the wrapper to preview"},
		"a name and a file":           {nil, inFile(asIs), []string{"web", "-f", "web.yaml"}, exit.Usage, "not both"},
		"a format that is none":       {nil, nil, []string{"web", "-o", "xml"}, exit.Usage, "give json or yaml"},
		"a file that is not there":    {nil, nil, []string{"-f", "lost.yaml"}, exit.Failed, "lost.yaml"},
		"a wrapper that is not there": {nil, nil, []string{"lost", "-n", "shop"}, exit.Failed, "there is no Federated lost in namespace shop"},
		"what admission refuses": {apierrors.NewInvalid(kind, "web", nil), inFile(asIs), []string{"-f", "web.yaml"}, exit.Failed,
			"checking Federated shop/web in web.yaml: "},
		"a broken wrapper, when admission cannot say": {apierrors.NewForbidden(resource, "web", errors.New("no right")), broken,
			[]string{"-f", "web.yaml"}, exit.Failed, "spec.objects[0].metadata.namespace"},
	} {
		t.Run(name, func(t *testing.T) {
			got := previewOf(t, hostWith(t, web(asIs)), test.refused, asObject(test.file), test.args...)
			if got.err == nil || got.code() != test.code || !strings.Contains(got.err.Error(), test.says) {
				t.Errorf("got %d %v, want %d and %q", got.code(), got.err, test.code, test.says)
			}
		})
	}
}

func TestPreviewGoesOnWhenTheAPIServerCannotCheck(t *testing.T) {
	resource := schema.GroupResource{Group: v1alpha1.Group, Resource: "federateds"}
	for name, refused := range map[string]error{
		"the user may not write wrappers": apierrors.NewForbidden(resource, "web", errors.New("no right")),
		"the webhook is down":             apierrors.NewInternalError(errors.New("failed calling webhook")),
	} {
		t.Run(name, func(t *testing.T) {
			got := previewOf(t, hostWith(t, append(history(t), web(asIs))...), refused, inFile(asIs), "-f", "web.yaml")
			if got.err != nil || !strings.Contains(got.stderr, "did not check Federated shop/web") || !strings.Contains(got.stdout, "wave canary: 1 cluster") {
				t.Errorf("%v; stderr: %s; stdout: %s", got.err, got.stderr, got.stdout)
			}
		})
	}
}

func TestPreviewPrintsAListForPrograms(t *testing.T) {
	got := previewOf(t, hostWith(t, append(history(t), web(asIs))...), apierrors.NewInvalid(schema.GroupKind{Kind: "Federated"}, "web", nil), inFile(asIs),
		"-f", "web.yaml", "-o", "json")
	if got.code() != exit.Failed || got.stdout != "" {
		t.Errorf("with no preview: %v, %q", got.err, got.stdout)
	}
	got = previewOf(t, hostWith(t, append(history(t), web(asIs))...), nil, inFile(asIs), "-f", "web.yaml", "-o", "json")
	var list []preview.Preview
	if err := json.Unmarshal([]byte(got.stdout), &list); err != nil || len(list) != 1 || len(list[0].Waves) != 2 {
		t.Errorf("%v in %s", err, got.stdout)
	}
}
