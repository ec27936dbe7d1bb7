// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/rollout"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// nobody stands for a manager that has not read the registry yet.
var nobody = validation{members: func(context.Context) ([]selection.Member, bool) { return nil, false }}

// override returns the good wrapper with an override for some members. The argument clusters has their names.
func override(clusters string) string {
	return strings.Replace(of(good, ""), "spec:", "spec:\n  overrides: [{clusters: {names: ["+clusters+
		"]}, target: {kind: ConfigMap}, patch: [{op: add, path: /data, value: {}}]}]", 1)
}

func TestANameWithoutAMemberClusterGetsAWarning(t *testing.T) {
	leaving := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "north", DeletionTimestamp: new(metav1.Now()), Finalizers: []string{"a/b"}}}
	members := []client.Object{&v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "east"}}, leaving}
	registry := func(err error) Members {
		return MembersOf(fake.NewClientBuilder().WithScheme(member.Scheme).WithObjects(members...).
			WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if err != nil {
					return err
				}
				return c.List(ctx, list, opts...)
			}}).Build())
	}
	const see = " (see `kubectl get memberclusters`)"
	for name, test := range map[string]struct {
		operation   admissionv1.Operation
		object, old string
		registry    Members
		want        []string
	}{
		"every name is known": {admissionv1.Create, override("east"), "", registry(nil), nil},
		"an override names an unknown member": {admissionv1.Create, override("east, ghost"), "", registry(nil),
			[]string{"spec.overrides[0].clusters.names: no MemberCluster is named ghost" + see}},
		"an override names a member that is leaving": {admissionv1.Create, override("north"), "", registry(nil),
			[]string{"spec.overrides[0].clusters.names: no MemberCluster is named north" + see}},
		"the placement names an unknown member": {admissionv1.Create, strings.Replace(of(good, ""), "[east]", "[ghost]", 1), "", registry(nil),
			[]string{"spec.placement.clusters.names: no MemberCluster is named ghost" + see}},
		"a wave that selects a member without a MemberCluster, and one that stops at no failure": {admissionv1.Create, strings.Replace(of(good, ""), "spec:",
			"spec:\n  rollout: {waves: [{name: canary, clusters: {names: [north]}}, {name: last, maxFailures: 1}]}", 1), "", registry(nil), []string{
			"spec.rollout.waves[0].clusters: wave canary has no placed member now, so the rollout passes it at once: the members that it selects are not placed, or belong to an earlier wave",
			"spec.rollout.waves[1].maxFailures: no failure in wave last stops the rollout, because maxFailures (1) is not less than the number of placed members that the wave has now (1)"}},
		"an update that brings the name": {admissionv1.Update, override("ghost"), of(good, ""), registry(nil), []string{"spec.overrides[0].clusters.names: no MemberCluster is named ghost" + see}},
		"a field is null": {admissionv1.Create, strings.Replace(of(good, ""), "{name: a}}", "{name: a}, data: {x: null}}", 1), "", registry(nil),
			[]string{"spec.objects[0].data.x of ConfigMap a is null: remove the field, because members refuse null in a field that is not nullable"}},
		"an update that leaves the spec":           {admissionv1.Update, override("ghost"), override("ghost"), registry(nil), nil},
		"the registry cannot be read: no warnings": {admissionv1.Create, override("ghost"), "", registry(errors.New("not yet")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := validation{members: test.registry}.validate(t.Context(), request(t, test.operation, "Federated", test.object, test.old))
			if !got.Allowed {
				t.Fatalf("refused: %+v", got.Result)
			}
			if diff := cmp.Diff(test.want, got.Warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheNumberOfWarningsIsBounded(t *testing.T) {
	spec := &v1alpha1.WrapperSpec{}
	for range 14 {
		spec.Overrides = append(spec.Overrides, v1alpha1.Override{Clusters: &v1alpha1.ClusterSelection{Names: []string{"ghost"}}})
	}
	none := validation{members: func(context.Context) ([]selection.Member, bool) { return nil, true }}
	plan, err := rollout.Compile(rollout.Strategy{})
	if err != nil {
		t.Fatal(err)
	}
	got := none.warnings(t.Context(), nil, spec, plan)
	if len(got) != maxWarnings+1 || got[maxWarnings] != "4 more warnings are left out" {
		t.Errorf("%d warnings: %q", len(got), got)
	}
}
