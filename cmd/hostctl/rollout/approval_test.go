// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/approve"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
)

func TestRetryAndSkipWriteAnApproval(t *testing.T) {
	of := func(spec v1alpha1.ApprovalSpec) []v1alpha1.ApprovalSpec {
		spec.Wrapper = v1alpha1.WrapperReference{Kind: v1alpha1.KindFederated, Name: "web", UID: "u"}
		spec.Rollout, spec.Revision = "a1", "fed-web-4"
		return []v1alpha1.ApprovalSpec{spec}
	}
	for name, test := range map[string]struct {
		command func(*approve.Options) *cobra.Command
		args    []string
		change  func(*v1alpha1.Federated)
		want    []v1alpha1.ApprovalSpec
		code    int
		says    string
	}{
		"a retry": {newRetryCommand, []string{"web", "-n", "shop"}, paused, of(v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowRetry}),
			exit.Done, "goes out again from its first wave"},
		"a retry of a rollout that has not failed": {newRetryCommand, []string{"web", "-n", "shop"}, asIs, nil, exit.Failed, "no revision has failed"},
		"a skip": {newSkipCommand, []string{"web", "south", "east", "-n", "shop"}, paused,
			of(v1alpha1.ApprovalSpec{Allow: v1alpha1.AllowSkip, Clusters: []string{"east", "south"}}), exit.Done, "waits for east, south any more"},
		"a skip of a cluster that the wrapper is not placed on": {newSkipCommand, []string{"web", "west", "-n", "shop"}, paused, nil,
			exit.Failed, "cluster west is not among the clusters"},
	} {
		t.Run(name, func(t *testing.T) {
			host := hostWith(t, web(test.change))
			s := newStreams("y\n")
			o := approve.NewOptions(s.IOStreams)
			o.CanAsk = func() bool { return true }
			o.Connect = func() (client.Client, error) { return host, nil }
			got := run(t, test.command(o), s, test.args...)
			said := got.stderr
			if got.err != nil {
				said += got.err.Error()
			}
			if got.code() != test.code || !strings.Contains(said, test.says) {
				t.Errorf("exit code %d, want %d and %q in:\n%s", got.code(), test.code, test.says, said)
			}
			list := &v1alpha1.ApprovalList{}
			if err := host.List(t.Context(), list); err != nil {
				t.Fatal(err)
			}
			var written []v1alpha1.ApprovalSpec
			for i := range list.Items {
				written = append(written, list.Items[i].Spec)
			}
			if diff := cmp.Diff(test.want, written); diff != "" {
				t.Errorf("Approvals written (-want +got):\n%s", diff)
			}
		})
	}
}
