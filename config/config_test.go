// SPDX-License-Identifier: Apache-2.0

package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestObjects(t *testing.T) {
	for name, tc := range map[string]struct {
		folder Folder
		want   []string // "KIND NAME" of each object, in the order of Objects
	}{
		"the folder has all CRDs of host and members": {
			folder: CRD,
			want: []string{
				"CustomResourceDefinition approvals.federation.fairlead.dev",
				"CustomResourceDefinition clusterfederateds.federation.fairlead.dev",
				"CustomResourceDefinition deliveries.federation.fairlead.dev",
				"CustomResourceDefinition federateds.federation.fairlead.dev",
				"CustomResourceDefinition memberclusters.federation.fairlead.dev",
				"CustomResourceDefinition memberreports.federation.fairlead.dev",
				"CustomResourceDefinition memberships.federation.fairlead.dev",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := Objects(tc.folder)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, object := range objects {
				got = append(got, object.GetKind()+" "+object.GetName())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("objects of %s (-want +got):\n%s", tc.folder, diff)
			}
		})
	}
}

func TestObjectsOfAFolderWithoutFilesIsAnError(t *testing.T) {
	if objects, err := Objects("nowhere"); err == nil {
		t.Errorf("want an error, got %d objects", len(objects))
	}
}

func TestCustomResourceDefinition(t *testing.T) {
	for name, tc := range map[string]struct {
		crd     string
		wantErr string
	}{
		"a CRD that exists":         {crd: "deliveries.federation.fairlead.dev"},
		"a CRD that does not exist": {crd: "deliverys.federation.fairlead.dev", wantErr: "deliverys.federation.fairlead.dev"},
	} {
		t.Run(name, func(t *testing.T) {
			crd, err := CustomResourceDefinition(tc.crd)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("want an error that names %s, got %v", tc.wantErr, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.crd, crd.GetName()); diff != "" {
				t.Errorf("name (-want +got):\n%s", diff)
			}
		})
	}
}

func TestACallerMayChangeACRD(t *testing.T) {
	const name = "deliveries.federation.fairlead.dev"
	for range 2 {
		crd, err := CustomResourceDefinition(name)
		if err != nil {
			t.Fatal(err)
		}
		if versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions"); err != nil || len(versions) == 0 {
			t.Fatalf("versions %v, error %v", versions, err)
		}
		unstructured.RemoveNestedField(crd.Object, "spec", "versions")
	}
}
