// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

// knowsNoMemberCollector makes the host refuse `collector: Member`, like a host of an earlier version, until the test
// ends.
func (f *fleet) knowsNoMemberCollector(t *testing.T) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := f.host.Get(within(t), types.NamespacedName{Name: "memberclusters." + v1alpha1.Group}, crd); err != nil {
		t.Fatal(err)
	}
	before := crd.DeepCopy()
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
	mode := spec.Properties["collector"]
	mode.Enum = slices.DeleteFunc(slices.Clone(mode.Enum), func(v apiextensionsv1.JSON) bool { return string(v.Raw) == `"Member"` })
	spec.Properties["collector"] = mode
	if err := f.host.Patch(within(t), crd, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { makeHost(t, f.host); f.awaitMode(t, true) })
	f.awaitMode(t, false)
}

// awaitMode waits until the host accepts `collector: Member` (taken is true) or refuses it (taken is false).
func (f *fleet) awaitMode(t *testing.T, taken bool) {
	t.Helper()
	probe := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "probe"}, Spec: v1alpha1.MemberClusterSpec{
		Endpoint: elsewhere, Collector: v1alpha1.CollectorMember}}
	probe.Spec.CredentialsRef.Name = "probe"
	eventually(t, "the host's CRD is served", func(ctx context.Context) bool {
		return (f.host.Create(ctx, probe.DeepCopy(), client.DryRunAll) == nil) == taken
	})
}

func TestAHostThatDoesNotKnowASettingIsAskedBeforeTheJoinWrites(t *testing.T) {
	f := newFleet(t)
	f.knowsNoMemberCollector(t)
	f.runsManager(t, "registry.example/manager:v0.1.0")
	defer f.forgetsManager(t)
	before := ours(t, f.east)

	_, reported, err := f.join(t, f.eastConfig, join.Options{Name: "east", Server: elsewhere, Collector: v1alpha1.CollectorMember})
	if err == nil || !strings.Contains(err.Error(), "older than this hostctl") || !strings.Contains(err.Error(), "spec.collector") {
		t.Errorf("the join: %v", err)
	}
	for _, s := range reported {
		if s.Outcome != steps.Checked && s.Outcome != steps.Noted {
			t.Errorf("the join has %s %s", s.Outcome, s.What)
		}
	}
	if diff := cmp.Diff(before, ours(t, f.east)); diff != "" {
		t.Errorf("on the member (-before +after):\n%s", diff)
	}
}
