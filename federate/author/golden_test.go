// SPDX-License-Identifier: Apache-2.0

package author

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

var everywhere = &v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{}}}

func TestTheOutputEqualsTheGoldenFiles(t *testing.T) {
	for name, tc := range map[string]struct {
		in, out string
		options Options
	}{
		"live objects, each in a wrapper": {"live", "live", Options{Clusters: everywhere}},
		"live objects in a bundle": {
			"live",
			"live-bundle",
			Options{Bundle: "shop", Clusters: &v1alpha1.ClusterSelection{Names: []string{"eu-1", "us-1"}}},
		},
		"manifests by hand, placed later": {"byhand", "byhand", Options{Namespace: "shop"}},
	} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", tc.in+".in.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			wrappers, notes := wrap(t, string(data), tc.options)
			var out bytes.Buffer
			if err := WriteYAML(&out, wrappers); err != nil {
				t.Fatal(err)
			}
			var said bytes.Buffer
			for _, note := range notes {
				fmt.Fprintln(&said, note)
			}
			golden.Equal(t, tc.out+".out.yaml", out.String())
			golden.Equal(t, tc.out+".notes.txt", said.String())
		})
	}
}

func wrap(t *testing.T, text string, options Options) ([]*Wrapper, []Note) {
	t.Helper()
	manifests, _, err := Parse([]Source{{Name: "in.yaml", Data: []byte(text)}})
	if err != nil {
		t.Fatal(err)
	}
	wrappers, notes, err := Wrap(manifests, options)
	if err != nil {
		t.Fatal(err)
	}
	return wrappers, notes
}
