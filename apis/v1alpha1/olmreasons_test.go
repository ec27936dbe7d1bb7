// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	// aboutOLM matches the comment of a reason that is about OLM v0.
	aboutOLM = regexp.MustCompile(`Subscription|InstallPlan|OperatorGroup|targetCSV|reinstall|operator\b|OLM`)
	// aUnitTest matches a test in the table of docs/guarantees.md.
	aUnitTest = regexp.MustCompile("^`(Test\\w+)` in (\\S+_test\\.go)$")
)

// olmReasons returns the name of the constant of each reason of conditions.go that is about OLM v0, by its value. It adds the reasons that
// come from OLM itself and that docs/design.md names, without a constant.
func olmReasons(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "conditions.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	reasons := map[string]string{"ResolutionFailed": "", "CatalogSourcesUnhealthy": "", "BundleUnpackFailed": "", "InstallPlanFailed": ""}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, "Reason") || !aboutOLM.MatchString(spec.Doc.Text()) || strings.Contains(spec.Doc.Text(), "OLM v1") {
			return true
		}
		value, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		reasons[value] = spec.Names[0].Name
		return true
	})
	return reasons
}

// docs/guarantees.md says for each reason which spec on real OLM meets it, and which unit test holds it. The files that it names have to
// contain the reason, and the tests have to exist.
func TestTheTableOfOLMsReasonsNamesTestsThatExist(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile(path.Join("../..", file))
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
	_, table, ok := strings.Cut(read("docs/guarantees.md"), "\n## Where each reason of OLM is tested\n")
	if !ok {
		t.Fatal("docs/guarantees.md has no section about the tests of the reasons")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	rows := make(map[string][]string)
	for line := range strings.Lines(table) {
		if cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | "); len(cells) == 4 && strings.Contains(cells[0], "`") {
			rows[strings.Trim(cells[0], " `")] = cells
		}
	}
	reasons := olmReasons(t)
	for reason, constant := range reasons {
		row, ok := rows[reason]
		if !ok {
			t.Errorf("no row for %s", reason)
			continue
		}
		has := func(text string) bool {
			return strings.Contains(text, `"`+reason+`"`) || strings.Contains(text, "Reason: "+reason) || constant != "" && strings.Contains(text, "v1alpha1."+constant)
		}
		specs, unit, why := strings.TrimSpace(row[1]), aUnitTest.FindStringSubmatch(strings.TrimSpace(row[2])), strings.TrimSpace(row[3])
		if (specs == "-") != (why != "-") {
			t.Errorf("%s: give either a spec, or the reason why there is none", reason)
		}
		for spec := range strings.SplitSeq(specs, ", ") {
			if spec != "-" && !has(read("test/e2e/"+spec)) {
				t.Errorf("%s: test/e2e/%s does not have it", reason, spec)
			}
		}
		if unit == nil {
			t.Errorf("%s: the unit test is %q, want `TestName` in FILE", reason, row[2])
			continue
		}
		if text := read(unit[2]); !has(text) || !strings.Contains(text, "func "+unit[1]+"(") {
			t.Errorf("%s: %s does not have it, or has no %s", reason, unit[2], unit[1])
		}
	}
	if len(reasons) < 20 {
		t.Errorf("found only %d reasons, want at least 20", len(reasons))
	}
}
