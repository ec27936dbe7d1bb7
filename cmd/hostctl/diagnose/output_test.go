// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"
)

func TestTheOutputForProgramsHasWhatTheIndexLists(t *testing.T) {
	deny := interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if list.GetObjectKind().GroupVersionKind().Kind == "MemberReportList" {
				return forbidden("memberreports")
			}
			return c.List(ctx, list, opts...)
		}}
	for format, decode := range map[string]func([]byte, *output) error{
		"json": func(content []byte, into *output) error { return json.Unmarshal(content, into) },
		"yaml": func(content []byte, into *output) error { return yaml.UnmarshalStrict(content, into) },
	} {
		t.Run(format, func(t *testing.T) {
			got := diagnose(t, hostWith(t, deny, everything()...), func(o *Options) { o.Limits.Bytes = 2000 }, "storefront", "-n", "shop", "-o", format)
			if got.err != nil {
				t.Fatal(got.err)
			}
			var out output
			if err := decode([]byte(got.stdout), &out); err != nil {
				t.Fatalf("%v:\n%s", err, got.stdout)
			}
			sizes := make(map[string]int)
			for name, content := range got.files {
				sizes[name] = len(content)
			}
			listed := make(map[string]int)
			for _, file := range out.Files {
				listed[file.Name] = file.Bytes
			}
			if diff := cmp.Diff(sizes, listed); diff != "" {
				t.Errorf("files (-archive +output):\n%s", diff)
			}
			unread := []string{"memberreports of Federated shop/storefront: your account may not: memberreports is forbidden: no rights"}
			if diff := cmp.Diff(unread, out.Unread); diff != "" {
				t.Errorf("unread (-want +got):\n%s", diff)
			}
			if filepath.Base(out.Path) != archiveName || out.Bytes == 0 || out.Scope != "Federated shop/storefront" || len(out.LeftOut) != 1 || out.Redacted == "" {
				t.Errorf("%+v", out)
			}
		})
	}
}
