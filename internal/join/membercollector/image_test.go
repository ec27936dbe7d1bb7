// SPDX-License-Identifier: Apache-2.0

package membercollector

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-dev/fairlead/internal/version"
)

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// managerOf returns the Deployment of a host's manager with this image.
func managerOf(image string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "sidecar", Image: "other/sidecar:v9"}, {Name: managerContainer, Image: image}}
	return d
}

func TestTheImageOfACollector(t *testing.T) {
	v1, v2 := managerOf("registry.org:5000/fairlead/manager:v1"), managerOf("registry.org:5000/fairlead/manager:v2")
	named := managerOf("registry.org/m@" + digest)
	named.Annotations = map[string]string{AnnotationCollectorImage: "registry.org/c@" + digest}
	misnamed := managerOf("registry.org/manager:v1")
	misnamed.Annotations = map[string]string{AnnotationCollectorImage: "registry.org/Collector"}
	// joined is the Deployment of an earlier join with these settings.
	joined := func(manager *appsv1.Deployment, given Given) *appsv1.Deployment {
		s, err := Settle("eu-1", given, manager, nil)
		if err != nil {
			t.Fatal(err)
		}
		return Deployment(s)
	}
	for name, tc := range map[string]struct {
		manager, present *appsv1.Deployment
		given            Given
		want, wantErr    string
	}{
		"it lies beside the manager's, under its tag": {manager: v1, want: "registry.org:5000/fairlead/collector:v1"},
		"a join after an upgrade of the host follows": {manager: v2, present: joined(v1, Given{}), want: "registry.org:5000/fairlead/collector:v2"},
		"the installation names it":                   {manager: named, want: "registry.org/c@" + digest},
		"the user names it":                           {manager: v1, given: Given{Image: "mine/c@" + digest}, want: "mine/c@" + digest},
		"the user names it, the host has no manager":  {given: Given{Image: "mine/c:v7"}, want: "mine/c:v7"},
		"without a tag it takes the manager's":        {manager: v1, given: Given{Image: "mirror:5000/c"}, want: "mirror:5000/c:v1"},
		"a mirror":                                    {manager: v1, given: Given{Registry: "mirror:5000/fairlead/"}, want: "mirror:5000/fairlead/collector:v1"},
		"what an earlier join was given stays":        {manager: v1, present: joined(v1, Given{Image: "mine/c:fixed"}), want: "mine/c:fixed"},
		"and takes the tag of an upgraded manager":    {manager: v2, present: joined(v1, Given{Image: "mine/c:fixed"}), want: "mine/c:v2"},
		"a mirror follows an upgrade":                 {manager: v2, present: joined(v1, Given{Registry: "mirror"}), want: "mirror/collector:v2"},
		"it stays where the manager is gone":          {present: joined(v1, Given{Registry: "mirror"}), want: "mirror/collector:v1"},
		"it follows the host again":                   {manager: v1, present: joined(v1, Given{Image: "mine/c:fixed"}), given: Given{Image: ImageOfHost}, want: "registry.org:5000/fairlead/collector:v1"},
		"a tag and a digest":                          {manager: managerOf("r/manager:v1@" + digest), want: "r/collector:v1"},
		"no manager":                                  {wantErr: "the host has no Deployment fairlead-system/fairlead-manager"},
		"a manager by digest":                         {manager: managerOf("r/manager@" + digest), want: "r/collector:" + strings.ReplaceAll(version.String(), "+", "-")},
		"a manager without a correct image":           {manager: managerOf("r/manager:v1+2"), wantErr: "the manager's image in the host's Deployment fairlead-system/fairlead-manager"},
		"an annotation that names no image":           {manager: misnamed, wantErr: "annotation " + AnnotationCollectorImage + " of the host's Deployment"},
		"a manager of another name":                   {manager: managerOf("r/fairlead:v1"), wantErr: "does not end in /manager, so hostctl cannot derive"},
		"a mirror without a tag":                      {given: Given{Registry: "mirror"}, wantErr: "give --image REPOSITORY:TAG"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Settle("eu-1", tc.given, tc.manager, tc.present)
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Errorf("got %v, want %q", err, tc.wantErr)
				}
				return
			}
			if err != nil || got.Image != tc.want {
				t.Errorf("got %q %v, want %q", got.Image, err, tc.want)
			}
		})
	}
}

func TestSettingsThatCannotBeUsed(t *testing.T) {
	for name, tc := range map[string]struct {
		given Given
		want  string
	}{
		"nothing":             {},
		"all of them":         {given: Given{Image: "a.b:5000/c/d:v1@" + digest, PullSecrets: []string{"registry"}, Tolerations: []string{"edge", "a=b:NoSchedule", ":NoExecute"}}},
		"a mirror":            {given: Given{Registry: "a.b:5000/c"}},
		"both":                {given: Given{Image: "a", Registry: "b"}, want: "give one of them"},
		"an image with space": {given: Given{Image: "a b"}, want: "is not an image reference"},
		"a short digest":      {given: Given{Image: "a@sha256:12"}, want: "is not an image reference"},
		"an image by URL":     {given: Given{Image: "https://r/c:v1"}, want: `--image: "https://r/c:v1" is not an image reference: `},
		"a tag in a registry": {given: Given{Registry: "mirror/c:v1"}, want: "is not a registry"},
		"a URL":               {given: Given{Registry: "https://mirror"}, want: "is not a registry"},
		"a secret's name":     {given: Given{PullSecrets: []string{"A_B"}}, want: "is not a valid name of a Secret"},
		"an effect":           {given: Given{Tolerations: []string{"a:Never"}}, want: "the effect has to be"},
		"a key":               {given: Given{Tolerations: []string{"a b"}}, want: "is not a valid key of a taint"},
		"a value":             {given: Given{Tolerations: []string{"a=b c"}}, want: "is not a valid value of a taint"},
		"every taint":         {given: Given{Tolerations: []string{""}}, want: "write KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.given.Validate()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
