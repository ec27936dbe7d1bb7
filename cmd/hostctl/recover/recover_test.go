// SPDX-License-Identifier: Apache-2.0

package recover

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// held returns a wrapper that is held on two members and Healthy on a third. The Delivery on east has a newer generation than the wrapper. The
// Delivery on west was written for another wrapper.
func held() *v1alpha1.Federated {
	w := build.Federated("web").In("shop").OnDelete(v1alpha1.KeepData).Obj()
	w.UID, w.Generation = "w", 3
	w.Status.Clusters = []v1alpha1.ClusterStatus{
		{Name: "east", State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonHostBehindMember, Revision: "fed-web-9", Message: "newer",
			Delivery: &v1alpha1.DeliveryVersion{UID: "d-east", Generation: 7}},
		{Name: "north", State: v1alpha1.StateHealthy},
		{Name: "west", State: v1alpha1.StateHeld, Reason: v1alpha1.ReasonWrapperReplaced, Message: "other",
			Delivery: &v1alpha1.DeliveryVersion{UID: "d-west", Generation: 2}},
	}
	return w
}

func member(name string, orphans int32, names ...string) *v1alpha1.MemberCluster {
	mc := &v1alpha1.MemberCluster{}
	mc.Name, mc.Status.Orphans = name, v1alpha1.OrphanedDeliveries{Count: orphans, Names: names}
	mc.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
	return mc
}

// unserving returns a host that does not serve Federateds, because their CRD was deleted.
func unserving(host client.WithWatch) client.Client {
	return interceptor.NewClient(host, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, is := list.(*v1alpha1.FederatedList); is {
				return &meta.NoKindMatchError{GroupKind: v1alpha1.GroupVersion.WithKind("Federated").GroupKind()}
			}
			return c.List(ctx, list, opts...)
		},
	})
}

// ran is the result of a run of the command: its output, its error, and the Approvals that it wrote.
type ran struct {
	out, said string
	err       error
	approvals []v1alpha1.Approval
}

func run(t *testing.T, objects []client.Object, terminal bool, answer string, args ...string) ran {
	t.Helper()
	return runAt(t, func(host client.WithWatch) client.Client { return host }, objects, terminal, answer, args...)
}

func runAt(t *testing.T, as func(client.WithWatch) client.Client, objects []client.Object, terminal bool, answer string, args ...string) ran {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	host := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
	var out, said bytes.Buffer
	o, cmd := newCommand(genericiooptions.IOStreams{In: strings.NewReader(answer), Out: &out, ErrOut: &said})
	o.CanAsk = func() bool { return terminal }
	o.Host = func() (client.Client, string, error) { return as(host), "shop", nil }
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	list := &v1alpha1.ApprovalList{}
	if listErr := host.List(t.Context(), list); listErr != nil {
		t.Fatal(listErr)
	}
	return ran{out: out.String(), said: said.String(), err: err, approvals: list.Items}
}

func TestRecoverListsWhatTheHostDoesNotKnow(t *testing.T) {
	over := &v1alpha1.Federated{}
	over.Namespace, over.Name = "shop", "over"
	got := run(t, []client.Object{held(), over, member("east", 0),
		member("north", 13, "cfed.fast", "fed.shop.gone", "by-hand", "fed.shop.over")}, false, "")
	want := `MEMBER   WHAT               OF                      DO
east     HostBehindMember   federated/shop/web      hostctl recover web -n shop --keep host|members
north    Orphan             Delivery by-hand        no wrapper can have this Delivery's name, so Fairlead did not write it: look at it on the member
north    Orphan             clusterfederated/fast   create the wrapper again from Git: the manager adopts equal objects, and holds the wrapper if they differ
north    Orphan             federated/shop/gone     create the wrapper again from Git: the manager adopts equal objects, and holds the wrapper if they differ
north    Orphan             federated/shop/over     place the wrapper on the member again (spec.placement), or leave the objects as they are
north    Orphan             9 more                  list the Deliveries on the member: kubectl get deliveries -n fairlead-system
west     WrapperReplaced    federated/shop/web      hostctl recover web -n shop --keep host|members
`
	if diff := cmp.Diff(want, got.out); diff != "" || exit.CodeOf(got.err) != exit.Waits {
		t.Errorf("exit code %d (-want +got):\n%s", exit.CodeOf(got.err), diff)
	}
}

func TestAWrapperWithALineForAMemberHasNoOrphanThere(t *testing.T) {
	got := run(t, []client.Object{held(), member("north", 1, "fed.shop.web"), member("west", 1, "fed.shop.web")}, false, "")
	if strings.Contains(got.out, "Orphan") || !strings.Contains(got.out, "west     WrapperReplaced") {
		t.Error(got.out)
	}
}

func TestRecoverReportsThatNothingIsMissing(t *testing.T) {
	w := held()
	w.Status.Clusters = w.Status.Clusters[1:2]
	got := run(t, []client.Object{w, member("east", 0)}, false, "")
	if got.err != nil || got.out != "" || !strings.Contains(got.said, "each Delivery on members fits a wrapper") {
		t.Errorf("%v, %q, %q", got.err, got.out, got.said)
	}
}

// The CRD of Federateds was deleted, and all Federateds with it.
func TestRecoverReportsAMissingWrapperCRDAndTheRemedy(t *testing.T) {
	for name, orphans := range map[string]int32{"with an orphan in the status": 1, "before the orphans are counted": 0} {
		got := runAt(t, unserving, []client.Object{member("east", orphans, []string{"fed.shop.web"}[:orphans]...)}, false, "")
		if !strings.Contains(got.said, "does not serve Federateds") || !strings.Contains(got.said, "kubectl apply --server-side -k config/crd") ||
			strings.Contains(got.out, "federated/shop/web") != (orphans == 1) || exit.CodeOf(got.err) != exit.Waits {
			t.Errorf("%s: %v\n%s\n%s", name, got.err, got.said, got.out)
		}
	}
	for _, keep := range []string{keepHost, keepMembers} {
		if got := runAt(t, unserving, nil, false, "", "web", "--keep", keep, "--yes"); exit.CodeOf(got.err) != exit.Failed {
			t.Errorf("--keep %s: %v", keep, got.err)
		}
	}
}

// The state of a member that is not Ready is unknown. recover must not print "Nothing to recover" then.
func TestAMemberThatIsNotReadyIsListedBecauseItsStateIsUnknown(t *testing.T) {
	away := member("west", 0)
	away.Status.Conditions[0].Status = metav1.ConditionFalse
	got := run(t, []client.Object{member("east", 0), away}, false, "")
	if !strings.Contains(got.out, "west     NotReady") || strings.Contains(got.out, "east") || exit.CodeOf(got.err) != exit.Waits {
		t.Errorf("%v\n%s", got.err, got.out)
	}
}

func TestRecoverOfAWrapperAlsoPrintsOrphansWithoutNames(t *testing.T) {
	got := run(t, []client.Object{member("north", 12, "fed.shop.gone")}, false, "", "other")
	if !strings.Contains(got.out, "11 more") || strings.Contains(got.out, "gone") || exit.CodeOf(got.err) != exit.Waits {
		t.Errorf("%v\n%s", got.err, got.out)
	}
}

func TestKeepHostWritesAnApprovalForThePresentDeliveries(t *testing.T) {
	both := []v1alpha1.OverwrittenDelivery{
		{Cluster: "east", UID: "d-east", Generation: 7},
		{Cluster: "west", UID: "d-west", Generation: 2},
	}
	for name, test := range map[string]struct {
		args     []string
		terminal bool
		answer   string
		want     []v1alpha1.OverwrittenDelivery
		code     int
		says     string
	}{
		"--yes does not ask":            {args: []string{"web", "--keep", "host", "--yes"}, want: both, says: "go back to generation 3"},
		"the answer yes":                {args: []string{"web", "--keep", "host"}, terminal: true, answer: "y\n", want: both},
		"the answer no":                 {args: []string{"web", "--keep", "host"}, terminal: true, answer: "n\n", code: exit.Failed, says: "with the same uids"},
		"no answer":                     {args: []string{"web", "--keep", "host"}, terminal: true, code: exit.Usage},
		"a pipe without --yes":          {args: []string{"web", "--keep", "host"}, code: exit.Usage},
		"--dry-run writes nothing":      {args: []string{"web", "--keep", "host", "--dry-run"}, says: "objects that the wrapper does not have are removed"},
		"one member":                    {args: []string{"web", "--keep", "host", "--yes", "--cluster", "west"}, want: both[1:]},
		"a member without a finding":    {args: []string{"web", "--keep", "host", "--yes", "--cluster", "north"}, code: exit.Failed},
		"--keep members writes nothing": {args: []string{"web", "--keep", "members"}, code: exit.Waits},
		"neither side":                  {args: []string{"web", "--keep", "both"}, code: exit.Usage},
		"--keep for all at once":        {args: []string{"--keep", "host", "--yes"}, code: exit.Usage},
		"--yes without --keep":          {args: []string{"web", "--yes"}, code: exit.Usage},
		"a kind that is none":           {args: []string{"pod/web"}, code: exit.Usage},
		"a wrapper without a finding":   {args: []string{"other", "--keep", "host", "--yes"}, says: "Nothing to recover for other"},
	} {
		t.Run(name, func(t *testing.T) {
			got := run(t, []client.Object{held()}, test.terminal, test.answer, test.args...)
			if exit.CodeOf(got.err) != test.code || !strings.Contains(got.said, test.says) {
				t.Errorf("exit code %d (%v), want %d and %q; said:\n%s", exit.CodeOf(got.err), got.err, test.code, test.says, got.said)
			}
			var overwrites []v1alpha1.OverwrittenDelivery
			for _, a := range got.approvals {
				overwrites = append(overwrites, a.Spec.Overwrites...)
				if a.Spec.Allow != v1alpha1.AllowOverwrite || a.Spec.Wrapper.UID != "w" || len(a.Spec.Clusters) != len(a.Spec.Overwrites) {
					t.Errorf("%+v", a.Spec)
				}
			}
			if diff := cmp.Diff(test.want, overwrites); diff != "" {
				t.Errorf("overwrites (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheHostHasNoStateToKeepForAnOrphan(t *testing.T) {
	objects := []client.Object{member("east", 1, "fed.shop.web")}
	got := run(t, objects, false, "", "web", "--keep", "host", "--yes")
	if exit.CodeOf(got.err) != exit.Failed || !strings.Contains(got.err.Error(), "Create the wrapper again from Git") || len(got.approvals) > 0 {
		t.Errorf("%v, %v", got.err, got.approvals)
	}
	got = run(t, objects, false, "", "web", "--keep", "members")
	if exit.CodeOf(got.err) != exit.Waits || !strings.Contains(got.out, "the manager adopts the objects that equal the wrapper's, and changes no other") {
		t.Errorf("%v\n%s", got.err, got.out)
	}
}

func TestTheApprovalForAClusterFederatedIsInTheSystemNamespace(t *testing.T) {
	w := build.ClusterFederated("fast").Obj()
	w.UID = "c"
	w.Status.Clusters = held().Status.Clusters[:1]
	got := run(t, []client.Object{w}, false, "", "cfed/fast", "--keep", "host", "--yes")
	if got.err != nil || len(got.approvals) != 1 || got.approvals[0].Namespace != v1alpha1.SystemNamespace ||
		got.approvals[0].Spec.Wrapper.Kind != v1alpha1.KindClusterFederated {
		t.Errorf("%v, %+v", got.err, got.approvals)
	}
}

// The status names 500 held members, and 110 more have no line. recover has to print how many more may be held: the user runs it again for
// them.
func TestRecoverPrintsHeldMembersThatHaveNoLine(t *testing.T) {
	w := held()
	w.Status.Clusters = nil
	for i := range 500 {
		w.Status.Clusters = append(w.Status.Clusters, v1alpha1.ClusterStatus{Name: fmt.Sprintf("m-%03d", i), State: v1alpha1.StateHeld,
			Reason: v1alpha1.ReasonHostBehindMember, Delivery: &v1alpha1.DeliveryVersion{UID: "d", Generation: 7}})
	}
	w.Status.ClustersOmitted = 110
	w.Status.ClustersOmittedByState = []v1alpha1.OmittedClusters{{State: v1alpha1.StateHeld, Count: 100}, {State: v1alpha1.StateHealthy, Count: 10}}
	for _, args := range [][]string{nil, {"web"}} {
		got := run(t, []client.Object{w}, false, "", args...)
		if !strings.Contains(got.out, "100 more of federated/shop/web") || !strings.Contains(got.out, "run this command again") {
			t.Errorf("%v: %.300s", args, got.out)
		}
	}
	got := run(t, []client.Object{w}, false, "", "web", "--keep", "host", "--yes")
	if got.err != nil || !strings.Contains(got.said, "Up to 100 more members are not listed yet") || len(got.approvals) != 1 ||
		len(got.approvals[0].Spec.Overwrites) != 500 {
		t.Errorf("%v, %d approvals: %.300s", got.err, len(got.approvals), got.said)
	}
	if got := run(t, []client.Object{held()}, false, "", "web", "--keep", "host", "--yes"); strings.Contains(got.said, "more members have no line") {
		t.Error(got.said)
	}
}
