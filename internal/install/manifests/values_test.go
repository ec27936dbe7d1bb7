// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestAValueThatIsLeftOutHasItsDefault(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		want func(*Values)
	}{
		"nothing is given":        {"", func(*Values) {}},
		"only comments are given": {"# none\n", func(*Values) {}},
		"a mapping is merged":     {"resources: {limits: {memory: 2Gi}}", func(v *Values) { v.Resources.Limits[corev1.ResourceMemory] = resource.MustParse("2Gi") }},
		"null removes a default":  {"resources: {limits: null}", func(v *Values) { v.Resources.Limits = nil }},
		"a list is replaced":      {"extraArgs: [--pprof-address=127.0.0.1:6060]", func(v *Values) { v.ExtraArgs = []string{"--pprof-address=127.0.0.1:6060"} }},
		"a part of an image":      {"image: {tag: v1}", func(v *Values) { v.Image.Tag = "v1" }},
	} {
		t.Run(name, func(t *testing.T) {
			want := Default()
			tc.want(&want)
			got, err := Parse([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTheSchemaRefusesValues in hack/manifests checks that the chart's values.schema.json refuses most of these values too.
func TestAWrongValueIsNamed(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"an unknown value":             {"replica: 3", `there is no value "replica"`},
		"an unknown value of an image": {"image: {name: manager}", `there is no value "image.name"`},
		"a tag that is none":           {"image: {tag: v1+2}", `image.tag: "v1+2"`},
		"a digest that is none":        {"image: {digest: latest}", `image.digest: "latest"`},
		"a digest in the repository":   {"image: {repository: 'r/m@sha256:00'}", "image.repository:"},
		"no repository":                {"image: {repository: ''}", "image.repository:"},
		"a tag in the repository":      {"image: {repository: 'r/m:v1'}", "image.repository:"},
		"replicas as a word":           {"replicas: two", "replicas: got a string, expected a whole number"},
		"image as a list":              {"image: [a]", "image: got an array, expected a mapping"},
		"a level that is none":         {"logLevel: verbose", `logLevel: "verbose"`},
		"an argument that is no flag":  {"extraArgs: [max]", `extraArgs[0]: "max"`},
		"a PriorityClass with no name": {"priorityClass: {create: true, name: ''}", "priorityClass.name"},
		"a flag of our own":            {"extraArgs: [--webhook-port=1]", "the installation sets this flag itself"},
		"a negative number of pods":    {"replicas: -1", "replicas: -1"},
		"a policy that is none":        {"image: {pullPolicy: Sometimes}", "image.pullPolicy"},
		"a Secret without a name":      {"imagePullSecrets: [{name: ''}]", "imagePullSecrets[0].name"},
		"a level below one":            {"logLevel: 0", "logLevel"},
		"a tolerance of another form":  {"tolerations: [{key: a, effekt: NoSchedule}]", `there is no value "tolerations[0].effekt"`},
		"a key that stands twice":      {"replicas: 1\nreplicas: 2", `key "replicas" already set`},
		"a list":                       {"- replicas: 1", "it holds no values"},
		"no YAML":                      {"a: [", "it is not YAML"},
		"a switch that is no switch":   {"networkPolicy: false", "networkPolicy: got a bool, expected a mapping"},
		"an amount that is none":       {"resources: {limits: {memory: lots}}", `resources.limits.memory: "lots"`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Parse([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want %q, got: %v", tc.want, err)
			}
		})
	}
}

func TestAllWrongValuesAreNamedAtOnce(t *testing.T) {
	_, err := Parse([]byte("image: {tag: v1+2, name: x}\nlogLevel: verbose\nreplica: 1"))
	for _, want := range []string{"image.tag", "image.name", "logLevel", "replica"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got: %v", want, err)
		}
	}
}

func TestAnImageByOneName(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for ref, want := range map[string]Image{
		"r.example/m":                        {Repository: "r.example/m"},
		"r.example/m:v1":                     {Repository: "r.example/m", Tag: "v1"},
		"r.example:5000/m":                   {Repository: "r.example:5000/m"},
		"r.example:5000/m:v1@" + digest:      {Repository: "r.example:5000/m", Tag: "v1", Digest: digest},
		"fairlead/manager:v0.0.0-dev-0123ab": {Repository: "fairlead/manager", Tag: "v0.0.0-dev-0123ab"},
	} {
		want.PullPolicy = corev1.PullAlways
		got, err := Image{Repository: "other", Tag: "old", Digest: "old", PullPolicy: corev1.PullAlways}.Named(ref)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", ref, err, diff)
		}
	}
	if got, err := Default().Image.Named("r:v1+2"); err == nil {
		t.Errorf("r:v1+2 is an image: %+v", got)
	}
}
