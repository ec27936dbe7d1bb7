// SPDX-License-Identifier: Apache-2.0

package approve

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// web returns a wrapper whose placement selects only east. The removal from north and south waits for an Approval. The removal from west
// is in progress.
func web(change func(*v1alpha1.Federated)) *v1alpha1.Federated {
	w := build.Federated("web").In("shop").To("east").With(
		build.ConfigMap("settings"), build.Claim("data"), build.Kept(build.ConfigMap("licence"), "true")).Obj()
	w.UID, w.Generation, w.Finalizers = "u", 4, []string{v1alpha1.Finalizer}
	w.Status.Placement = v1alpha1.PlacementStatus{
		ObservedGeneration: 4, Clusters: []string{"east", "north", "south"}, Withheld: []string{"north", "south"},
		Decision: "0123456789abcdef", Leaving: []string{"west"},
	}
	change(w)
	return w
}

func deleted(w *v1alpha1.Federated) {
	w.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

// asDeleted changes a wrapper into one that is being deleted. It has left east, and not yet the other members.
func asDeleted(w *v1alpha1.Federated) {
	deleted(w)
	w.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Reason: v1alpha1.ReasonDeleting}}
	for _, name := range []string{"north", "south", "west"} {
		w.Status.Clusters = append(w.Status.Clusters, v1alpha1.ClusterStatus{Name: name, State: v1alpha1.StateUnreachable})
	}
}

type commandResult struct {
	stdout, stderr string
	err            error
	written        []v1alpha1.Approval
}

// run runs the command against a fake host that has these objects, and the members of web. answer is the user's input.
func run(t *testing.T, answer string, args []string, objects ...client.Object) commandResult {
	t.Helper()
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"east", "north", "south", "west"} {
		objects = append(objects, &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	host := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			obj.SetName(obj.GetGenerateName() + "x7k2p")
			return c.Create(ctx, obj, opts...)
		},
	}).Build()
	var out, said bytes.Buffer
	o, cmd := newCommand(genericiooptions.IOStreams{In: strings.NewReader(answer), Out: &out, ErrOut: &said})
	o.CanAsk = func() bool { return answer != "" }
	o.Connect = func() (client.Client, error) { return host, nil }
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	got := commandResult{err: cmd.ExecuteContext(t.Context())}
	got.stdout, got.stderr = out.String(), said.String()
	list := &v1alpha1.ApprovalList{}
	if err := host.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	got.written = list.Items
	return got
}

func TestApproveWritesAnApproval(t *testing.T) {
	cluster := build.ClusterFederated("fast").To("east").With(build.StorageClass("fast")).Obj()
	cluster.UID, cluster.Generation = "c", 1
	cluster.Status.Placement = v1alpha1.PlacementStatus{ObservedGeneration: 1, Clusters: []string{"east"}, Leaving: []string{"west"}}
	owner := func(kind, name, uid string) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind, Name: name, UID: types.UID(uid)}
	}
	ofWeb := v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: "web", UID: "u"}
	for name, test := range map[string]struct {
		args  []string
		w     client.Object
		meta  string // NAMESPACE/NAME of the Approval
		want  v1alpha1.ApprovalSpec
		owned []metav1.OwnerReference
		says  []string
	}{
		"the removal that waits": {
			args: []string{"web", "-n", "shop", "--removal"}, w: web(func(*v1alpha1.Federated) {}), meta: "shop/web-removal-x7k2p",
			want: v1alpha1.ApprovalSpec{Wrapper: ofWeb, Allow: v1alpha1.AllowRemoval, Decision: "0123456789abcdef",
				Clusters: []string{"north", "south"}},
			owned: []metav1.OwnerReference{owner("Federated", "web", "u")},
			says: []string{"Federated shop/web will leave north, south now (onDelete: KeepData):", "removed: ConfigMap settings\n",
				"kept:    PersistentVolumeClaim data, ConfigMap licence\n"},
		},
		"a part of the removal that waits": {
			args: []string{"web", "-n", "shop", "--removal", "--cluster", "south"}, w: web(func(w *v1alpha1.Federated) { w.Spec.OnDelete = v1alpha1.KeepAll }),
			meta:  "shop/web-removal-x7k2p",
			want:  v1alpha1.ApprovalSpec{Wrapper: ofWeb, Allow: v1alpha1.AllowRemoval, Decision: "0123456789abcdef", Clusters: []string{"south"}},
			owned: []metav1.OwnerReference{owner("Federated", "web", "u")},
			says:  []string{"The wrapper stays on north until you approve that removal too, or until the hourly limit (spec.rollout.maxRemoval) allows it.", "removed: nothing\n"},
		},
		"a member that is being left": {
			args: []string{"web", "-n", "shop", "--release", "west"}, w: web(func(*v1alpha1.Federated) {}), meta: "shop/web-release-x7k2p",
			want:  v1alpha1.ApprovalSpec{Wrapper: ofWeb, Allow: v1alpha1.AllowRelease, Clusters: []string{"west"}},
			owned: []metav1.OwnerReference{owner("Federated", "web", "u")},
			says: []string{"Fairlead will no longer wait for the removal of Federated shop/web from west.",
				"stay there, even if the cluster answers again later:\n  ConfigMap settings, PersistentVolumeClaim data, ConfigMap licence"},
		},
		"members of a wrapper that is being deleted": {
			args: []string{"web", "-n", "shop", "--release", "west,north"}, w: web(asDeleted), meta: "shop/web-release-x7k2p",
			want:  v1alpha1.ApprovalSpec{Wrapper: ofWeb, Allow: v1alpha1.AllowRelease, Clusters: []string{"north", "west"}},
			owned: []metav1.OwnerReference{owner("Federated", "web", "u")},
			says:  []string{"Fairlead still waits for the removal from south."},
		},
		"an Approval for a wrapper whose dependents are deleted first has no owner": {
			args: []string{"web", "-n", "shop", "--release", "west"},
			w: web(func(w *v1alpha1.Federated) {
				deleted(w)
				w.Finalizers = append(w.Finalizers, metav1.FinalizerDeleteDependents)
			}), meta: "shop/web-release-x7k2p",
			want: v1alpha1.ApprovalSpec{Wrapper: ofWeb, Allow: v1alpha1.AllowRelease, Clusters: []string{"west"}},
		},
		"an Approval for a ClusterFederated is in fairlead-system": {
			args: []string{"cfed/fast", "--release", "west"}, w: cluster, meta: v1alpha1.SystemNamespace + "/fast-release-x7k2p",
			want: v1alpha1.ApprovalSpec{Wrapper: v1alpha1.WrapperReference{Kind: v1alpha1.KindClusterFederated, Name: "fast", UID: "c"},
				Allow: v1alpha1.AllowRelease, Clusters: []string{"west"}},
			owned: []metav1.OwnerReference{owner("ClusterFederated", "fast", "c")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, "yes\n", test.args, test.w)
			if got.err != nil || len(got.written) != 1 {
				t.Fatalf("%v; written: %v", got.err, got.written)
			}
			a := got.written[0]
			if diff := cmp.Diff(test.want, a.Spec); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.owned, a.OwnerReferences); diff != "" {
				t.Errorf("owners (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.meta, a.Namespace+"/"+a.Name); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, words := range append(test.says, "Approve that? [y/N]") {
				if !strings.Contains(got.stderr, words) {
					t.Errorf("want %q in:\n%s", words, got.stderr)
				}
			}
			if want := "approval.federation.fairlead.dev/" + a.Name + " created\n"; got.stdout != want {
				t.Errorf("stdout %q, want %q", got.stdout, want)
			}
		})
	}
}

func TestApproveRefusesWhatDoesNotWait(t *testing.T) {
	asIs := func(*v1alpha1.Federated) {}
	for name, test := range map[string]struct {
		args   []string
		change func(*v1alpha1.Federated)
		answer string
		code   int
		words  string
	}{
		"neither flag":                 {[]string{"web"}, asIs, "y\n", exit.Usage, "say what to approve"},
		"both flags":                   {[]string{"web", "--removal", "--release", "west"}, asIs, "y\n", exit.Usage, "say what to approve"},
		"members of a release":         {[]string{"web", "--release", "west", "--cluster", "west"}, asIs, "y\n", exit.Usage, "--cluster works only with --removal"},
		"a kind that has no approvals": {[]string{"member/web", "--removal"}, asIs, "y\n", exit.Usage, "cfed/NAME for a ClusterFederated"},
		"a format that is none":        {[]string{"web", "--removal", "-o", "xml"}, asIs, "y\n", exit.Usage, "give yaml, json or name"},
		"in a pipe":                    {[]string{"web", "--removal"}, asIs, "", exit.Usage, "give --yes"},
		"the answer is no":             {[]string{"web", "-n", "shop", "--removal"}, asIs, "n\n", exit.Failed, "nothing was done"},
		"a wrapper that is not there":  {[]string{"web", "-n", "bank", "--removal"}, asIs, "y\n", exit.Failed, "there is no Federated web in namespace bank"},
		"nothing waits": {[]string{"web", "-n", "shop", "--removal"}, func(w *v1alpha1.Federated) { w.Status.Placement.Withheld = nil },
			"y\n", exit.Failed, "no removal waits"},
		"nothing is being left": {[]string{"web", "-n", "shop", "--release", "west"},
			func(w *v1alpha1.Federated) { w.Status.Placement.Leaving = nil }, "y\n", exit.Failed, "so no cluster can be released"},
		"a decision on an earlier spec": {[]string{"web", "-n", "shop", "--removal"}, func(w *v1alpha1.Federated) { w.Generation++ },
			"y\n", exit.Failed, "has not yet decided on which clusters to place the wrapper's present spec"},
		"a removal of a wrapper that is being deleted": {[]string{"web", "-n", "shop", "--removal"}, deleted, "y\n", exit.Failed, "a deletion waits for no approval"},
		"a member that is not there": {[]string{"web", "-n", "shop", "--removal", "--cluster", "nowhere"}, asIs, "y\n", exit.Failed,
			"there is no cluster nowhere (see `kubectl get memberclusters`); the clusters that wait for an approval of the removal: north, south"},
		"a member that is not in the decision": {[]string{"web", "-n", "shop", "--removal", "--cluster", "east"}, asIs, "y\n", exit.Failed,
			"cluster east is not among the clusters that wait for an approval of the removal: north, south"},
		"a member that is not being left": {[]string{"web", "-n", "shop", "--release", "east"}, asIs, "y\n", exit.Failed,
			"cluster east is not among the clusters that the wrapper is leaving: west"},
		"a member that has been left": {[]string{"web", "-n", "shop", "--release", "east"}, asDeleted, "y\n", exit.Failed,
			"not among the clusters that the wrapper is leaving: north, south, west"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, test.answer, test.args, web(test.change))
			if got.err == nil || exit.CodeOf(got.err) != test.code || !strings.Contains(got.err.Error(), test.words) {
				t.Errorf("got %d %v, want %d and %q", exit.CodeOf(got.err), got.err, test.code, test.words)
			}
			if len(got.written) > 0 || got.stdout != "" {
				t.Errorf("written: %v; stdout: %s", got.written, got.stdout)
			}
		})
	}
}

func TestADryRunWritesNothingAndAsksNoQuestion(t *testing.T) {
	got := run(t, "", []string{"web", "-n", "shop", "--removal", "--dry-run", "-o", "yaml"}, web(func(*v1alpha1.Federated) {}))
	if got.err != nil || len(got.written) > 0 {
		t.Fatalf("%v; written: %v", got.err, got.written)
	}
	for _, words := range []string{"kind: Approval\n", "allow: Removal\n", "decision: 0123456789abcdef\n", "  - north\n"} {
		if !strings.Contains(got.stdout, words) {
			t.Errorf("want %q in:\n%s", words, got.stdout)
		}
	}
	if strings.Contains(got.stderr, "[y/N]") {
		t.Errorf("a dry run asked a question: %s", got.stderr)
	}
}
