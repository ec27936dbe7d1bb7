// SPDX-License-Identifier: Apache-2.0

package join_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/join/permissions"
	"github.com/fairlead-dev/fairlead/internal/join/steps"
)

func TestAnOlderHostctlLeavesNewerCRDs(t *testing.T) {
	f := newFleet(t)
	f.mustJoin(t, f.eastConfig, join.Options{Name: "east"})
	t.Cleanup(func() { f.leave(t, f.eastConfig, "east") })
	read := func() *apiextensionsv1.CustomResourceDefinition {
		t.Helper()
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := f.east.Get(within(t), types.NamespacedName{Name: permissions.CRDDeliveries}, crd); err != nil {
			t.Fatal(err)
		}
		return crd
	}
	spec := func(crd *apiextensionsv1.CustomResourceDefinition) map[string]apiextensionsv1.JSONSchemaProps {
		return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	}
	change := func(what func(*apiextensionsv1.CustomResourceDefinition)) string {
		t.Helper()
		crd := read()
		what(crd)
		if err := f.east.Update(within(t), crd, client.FieldOwner("hostctl")); err != nil {
			t.Fatal(err)
		}
		return crd.ResourceVersion
	}
	stays := func(version, words string) {
		t.Helper()
		_, reported, err := f.join(t, f.eastConfig, join.Options{Name: "east"})
		if err != nil {
			t.Fatal(err)
		}
		if now := read().ResourceVersion; now != version {
			t.Errorf("the CRD was written")
		}
		if !slices.ContainsFunc(reported, func(s steps.Step) bool {
			return s.Outcome == steps.Noted && strings.Contains(s.What, "CRD "+permissions.CRDDeliveries+" stays as it is: a newer hostctl ("+words)
		}) {
			t.Errorf("it is not told: %v", reported)
		}
	}
	if read().Annotations[v1alpha1.AnnotationVersion] == "" {
		t.Error("the join does not write its version")
	}

	// A CRD that has more fields than this version's stays, even if the two versions cannot be compared.
	stays(change(func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations[v1alpha1.AnnotationVersion] = "unordered"
		spec(crd)["later"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	}), "unordered")

	// A CRD that lacks a field and has no other field is upgraded.
	before := read()
	change(func(crd *apiextensionsv1.CustomResourceDefinition) {
		delete(spec(crd), "later")
		delete(spec(crd), "seal")
	})
	if again := f.mustJoin(t, f.eastConfig, join.Options{Name: "east"}); again.Changes != 1 {
		t.Errorf("%+v", again)
	}
	delete(spec(before), "later")
	if diff := cmp.Diff(before.Spec, read().Spec); diff != "" {
		t.Error(diff)
	}
}
