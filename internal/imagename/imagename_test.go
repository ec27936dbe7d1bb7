// SPDX-License-Identifier: Apache-2.0

package imagename

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var digest = "sha256:" + strings.Repeat("0a", 32)

func TestParse(t *testing.T) {
	for text, want := range map[string]Name{
		"manager":                           {Repository: "manager"},
		"manager:v1":                        {Repository: "manager", Tag: "v1"},
		"localhost/manager":                 {Repository: "localhost/manager"},
		"mirror:5000/c":                     {Repository: "mirror:5000/c"},
		"[fd00::1]:5000/c:v1":               {Repository: "[fd00::1]:5000/c", Tag: "v1"},
		"r.example/a/b-c/d__e:V1.0_rc-1":    {Repository: "r.example/a/b-c/d__e", Tag: "V1.0_rc-1"},
		"r.example/m@" + digest:             {Repository: "r.example/m", Digest: digest},
		"r.example:5000/m:v1@" + digest:     {Repository: "r.example:5000/m", Tag: "v1", Digest: digest},
		"fairlead/m:v0.0.0-dev.2026-0123ab": {Repository: "fairlead/m", Tag: "v0.0.0-dev.2026-0123ab"},
		strings.Repeat("a", 255) + ":v1":    {Repository: strings.Repeat("a", 255), Tag: "v1"},
	} {
		got, err := Parse(text)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
}

func TestAnErrorTellsTheWrongPart(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "it is empty",
		"a b":                           `"a b" is not a repository`,
		":v1":                           `"" is not a repository`,
		"r/":                            `"r/" is not a repository`,
		"/r":                            `"/r" is not a repository`,
		"r//m":                          `"r//m" is not a repository`,
		"r.example/Manager:v1":          "the path in lower case",
		"r:port/m":                      `"r:port/m" is not a repository`,
		"https://r.example/m:v1":        `write "r.example/m"`,
		"r:":                            `"" is not a valid image tag`,
		"r:v1+2":                        `"v1+2" is not a valid image tag`,
		"r:-v1":                         `"-v1" is not a valid image tag`,
		"r:" + strings.Repeat("a", 129): "is not a valid image tag",
		"r@":                            `"" is not a digest`,
		"r@latest":                      `"latest" is not a digest`,
		"r@" + digest + "@" + digest:    "is not a digest",
		"r@" + strings.ToUpper(digest):  "is not a digest",
		"a:v1:v2":                       `"a:v1" is not a repository`,
		strings.Repeat("a", 256):        "has 256 characters, and registries accept at most 255",
	} {
		got, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Write REGISTRY/REPOSITORY:TAG") {
			t.Errorf("%q: %+v %v, want %q", text, got, err, want)
		}
	}
}

func TestTheChartChecksTheSameForms(t *testing.T) {
	text, err := os.ReadFile("../../charts/fairlead/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	type field struct{ Pattern string }
	var schema struct {
		Properties struct {
			Image struct {
				Properties struct{ Repository, Tag, Digest field }
			}
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	// In the chart a tag and a digest can also be "", which means that none is given.
	orEmpty := func(pattern string) string {
		return "^(" + strings.TrimSuffix(strings.TrimPrefix(pattern, "^"), "$") + ")?$"
	}
	got := schema.Properties.Image.Properties
	want := struct{ Repository, Tag, Digest field }{field{RepositoryPattern}, field{orEmpty(TagPattern)}, field{orEmpty(DigestPattern)}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values.schema.json and package imagename differ (-package +schema):\n%s", diff)
	}
}

func TestTheTagOfAVersion(t *testing.T) {
	if got := TagOf("v0.0.0-dev.20261123+0123ab"); got != "v0.0.0-dev.20261123-0123ab" || CheckTag(got) != nil {
		t.Error(got)
	}
}
