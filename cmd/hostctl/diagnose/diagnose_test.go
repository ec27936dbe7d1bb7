// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

const archiveName = "fairlead-diagnose-20260102T030405Z.tar.gz"

// result is what the command returned, printed and wrote.
type result struct {
	err          error
	stdout, said string
	// files are the files of the archive by name, without the folder.
	files map[string]string
	// left are the names of the files in the directory.
	left []string
}

func (r result) names() []string { return slices.Sorted(maps.Keys(r.files)) }

// all returns the whole decompressed archive.
func (r result) all() string {
	var b strings.Builder
	for name, content := range r.files {
		b.WriteString(name + "\n" + content + "\n")
	}
	return b.String()
}

func diagnose(t *testing.T, host *Host, change func(*Options), args ...string) result {
	t.Helper()
	t.Setenv("KUBECONFIG", "testdata/kubeconfig.yaml")
	directory := t.TempDir()
	var out, said bytes.Buffer
	o := newOptions(genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &said})
	o.Connect = func() (*Host, error) { return host, nil }
	o.Now, o.Version = func() time.Time { return now }, "v0.2.0"
	cmd := newCommand(o)
	o.OutputDirectory = directory // newCommand has set the default
	cmd.SetArgs(append([]string{"--output-directory", directory}, args...))
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	change(o)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := result{err: cmd.ExecuteContext(context.WithValue(ctx, interrupt{}, cancel)), stdout: out.String(), said: said.String(), files: map[string]string{}}
	found, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		r.left = append(r.left, f.Name())
	}
	if r.err == nil {
		r.files = extract(t, filepath.Join(directory, archiveName))
	}
	return r
}

// interrupt is the key of the context's own cancel function: a fake host calls it in place of Ctrl-C.
type interrupt struct{}

func asItIs(*Options) {}

// extract reads an archive.
func extract(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // it is only read
	if info, err := file.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the archive has mode %v (%v), want 0600", info.Mode(), err)
	}
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		name, ok := strings.CutPrefix(header.Name, strings.TrimSuffix(archiveName, ".tar.gz")+"/")
		if _, twice := files[name]; !ok || twice || !fs.ValidPath(name) {
			t.Errorf("the archive has %s, which is outside of its folder, or twice", header.Name)
		}
		files[name] = string(content)
	}
}

func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no rights"))
}

func TestTheIndexListsWhatTheArchiveHas(t *testing.T) {
	for file, args := range map[string][]string{"wrapper.txt": {"storefront", "-n", "shop"}, "cluster-wrapper.txt": {"cfed", "fast"}, "namespace.txt": {"-n", "shop"}, "host.txt": nil} {
		t.Run(file, func(t *testing.T) {
			got := diagnose(t, hostWith(t, interceptor.Funcs{}, everything()...), asItIs, args...)
			if got.err != nil {
				t.Fatal(got.err)
			}
			golden.Equal(t, file, got.files["index.txt"])
			if !strings.HasSuffix(strings.TrimSpace(got.stdout), archiveName) || len(got.left) != 1 || !strings.Contains(got.said, "look through it before you send it") {
				t.Errorf("printed %q and %q; left %v", got.stdout, got.said, got.left)
			}
			for _, secret := range []string{"content-of-a", "Y29udGVudC1vZi1h", "f:spec"} {
				if strings.Contains(got.all(), secret) {
					t.Errorf("the archive has %q", secret)
				}
			}
		})
	}
}

func TestAWrapperComesWithItsEvidenceAndNothingOfAnother(t *testing.T) {
	got := diagnose(t, hostWith(t, interceptor.Funcs{}, everything()...), asItIs, "storefront", "-n", "shop")
	for file, has := range map[string][]string{
		"namespaces/shop/federateds/storefront.yaml":               {"color: blue", "team: shop", "state: Degraded"},
		"namespaces/shop/memberreports/storefront.1111111111.yaml": {"panic: no database"},
		"namespaces/shop/events.yaml":                              {"it happened"},
		"namespaces/shop/controllerrevisions.yaml":                 {"fed-storefront-1"},
		"namespaces/shop/approvals.yaml":                           {"wave: canary", "name: a1"},
		"summary.txt":                                              {"Federated shop/storefront  Degraded: 1 of 1 member", "panic: no database"},
	} {
		for _, text := range has {
			if !strings.Contains(got.files[file], text) {
				t.Errorf("%s does not have %q:\n%s", file, text, got.files[file])
			}
		}
	}
	for _, text := range []string{"other", "last-applied-configuration:", "managedFields:"} {
		if strings.Contains(got.all(), text) {
			t.Errorf("the archive has %q", text)
		}
	}
}

func TestTheWholeHostComesWithTheManagersState(t *testing.T) {
	got := diagnose(t, hostWith(t, interceptor.Funcs{}, everything()...), asItIs)
	const system = "namespaces/fairlead-system/"
	for file, has := range map[string]string{
		"cluster/memberclusters/eu-1.yaml":                    "name: eu-1",
		"cluster/clusterfederateds/fast.yaml":                 "name: fast",
		"cluster/customresourcedefinitions.yaml":              "- v1alpha1",
		"cluster/ValidatingWebhookConfiguration.yaml":         "name: fairlead",
		system + "configmaps.yaml":                            "- name: settings\n",
		system + "secrets.yaml":                               "- keys:\n  - ca.crt\n  - tls.key\n  name: webhook\n  type: kubernetes.io/tls\n",
		system + "deployments.yaml":                           "name: fairlead-manager",
		system + "events-all.yaml":                            "probe failed",
		system + "pods.yaml":                                  "name: foreign",
		system + "logs/manager-1.manager.log":                 "log of fairlead-system/manager-1/manager, previous false",
		system + "logs/manager-1.manager.previous.log":        "previous true",
		"namespaces/shop/federateds/storefront.yaml":          "color: blue",
		"namespaces/shop/memberreports/other.1111111111.yaml": "NotReady",
		"namespaces/shop/events.yaml":                         "to another",
		"namespaces/shop/controllerrevisions.yaml":            "fed-other-1",
		"namespaces/shop/approvals.yaml":                      "a2",
		"index.txt":                                           "image     r.example/fairlead:v0.2.0",
		"summary.txt":                                         "Federated shop/storefront",
	} {
		if !strings.Contains(got.files[file], has) {
			t.Errorf("%s does not have %q:\n%s", file, has, got.files[file])
		}
	}
	if _, ok := got.files[system+"logs/foreign.x.log"]; ok {
		t.Error("the archive has the log of a pod that is not Fairlead's")
	}
}

func TestWhatTheAccountMayNotReadIsListedAndIsNoFailure(t *testing.T) {
	deny := interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			kind := list.GetObjectKind().GroupVersionKind().Kind
			if kind == "ControllerRevisionList" || kind == "MemberReportList" {
				return forbidden("things")
			}
			return c.List(ctx, list, opts...)
		}}
	got := diagnose(t, hostWith(t, deny, everything()...), asItIs, "storefront", "-n", "shop")
	if got.err != nil || exit.CodeOf(got.err) != exit.Done {
		t.Fatal(got.err)
	}
	for _, says := range []string{
		"  memberreports of Federated shop/storefront: your account may not: things is forbidden: no rights\n",
		"  the metadata of controllerrevisions of Federated shop/storefront: your account may not: things is forbidden: no rights\n"} {
		if !strings.Contains(got.files["index.txt"], says) {
			t.Errorf("the index does not say %q:\n%s", says, got.files["index.txt"])
		}
	}
	if !strings.Contains(got.said, "• not complete: index.txt lists 2 parts") || !strings.Contains(got.files["namespaces/shop/events.yaml"], "it happened") {
		t.Errorf("said %s", got.said)
	}
}

func TestWithoutAnArchiveNoFileIsLeft(t *testing.T) {
	list := func(answer func(ctx context.Context) error) interceptor.Funcs {
		return interceptor.Funcs{
			List: func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
				return answer(ctx)
			},
			Get: func(ctx context.Context, _ client.WithWatch, _ client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
				return answer(ctx)
			}}
	}
	down := func(context.Context) error {
		return &url.Error{Op: "Get", URL: "https://host", Err: errors.New("connection refused")}
	}
	for name, test := range map[string]struct {
		funcs interceptor.Funcs
		args  []string
		code  int
		says  string
	}{
		"the host does not answer":         {list(down), nil, exit.Failed, "nothing could be read, and no archive is written: reading "},
		"the host does not answer for one": {list(down), []string{"storefront"}, exit.Failed, "connection refused"},
		"the account may read nothing":     {list(func(context.Context) error { return forbidden("x") }), []string{"-n", "shop"}, exit.Failed, "nothing could be read"},
		"a wrapper that is not there":      {interceptor.Funcs{}, []string{"storefrnt"}, exit.Failed, "there is no Federated storefrnt in namespace shop"},
		"Ctrl-C":                           {list(func(ctx context.Context) error { ctx.Value(interrupt{}).(context.CancelFunc)(); return ctx.Err() }), nil, exit.Failed, "interrupted, and no archive is written"},
		"a kind that is none":              {interceptor.Funcs{}, []string{"deploy", "web"}, exit.Usage, "give NAME for a Federated"},
		"a directory that is not there":    {interceptor.Funcs{}, []string{"--output-directory", "testdata/none"}, exit.Usage, `--output-directory "testdata/none": give a directory that exists`},
		"a format that is none":            {interceptor.Funcs{}, []string{"-o", "xml"}, exit.Usage, `--output "xml": give json or yaml`},
		"a file in place of the directory": {interceptor.Funcs{}, []string{"--output-directory", "testdata/kubeconfig.yaml"}, exit.Usage, "give a directory that exists"},
	} {
		t.Run(name, func(t *testing.T) {
			got := diagnose(t, hostWith(t, test.funcs, storefront()), asItIs, test.args...)
			if exit.CodeOf(got.err) != test.code || !strings.Contains(got.err.Error(), test.says) || len(got.left) > 0 || got.stdout != "" {
				t.Errorf("%v, want code %d and %q; left %v, printed %q", got.err, test.code, test.says, got.left, got.stdout)
			}
		})
	}
}

func TestAHostThatStopsAnsweringIsNotAskedAgain(t *testing.T) {
	asked := 0
	funcs := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if kind := list.GetObjectKind().GroupVersionKind().Kind; kind == "FederatedList" {
			return c.List(ctx, list, opts...)
		}
		asked++
		return &url.Error{Op: "Get", URL: "https://host", Err: errors.New("timeout")}
	}}
	got := diagnose(t, hostWith(t, funcs, everything()...), asItIs, "-n", "shop")
	if got.err != nil || asked != maxUnanswered || !strings.Contains(got.files["index.txt"], "approvals in namespace shop: not asked for, because the host has stopped answering") {
		t.Errorf("asked %d times: %v\n%s", asked, got.err, got.files["index.txt"])
	}
	if strings.Contains(got.files["summary.txt"], "has a problem") {
		t.Errorf("the summary says %s", got.files["summary.txt"])
	}
}

func TestNoFileIsOverwritten(t *testing.T) {
	for name, when := range map[string]func(o *Options, path string){
		"from before": func(_ *Options, path string) { write(t, path) },
		"written in the meantime": func(o *Options, path string) {
			connect := o.Connect
			o.Connect = func() (*Host, error) {
				host, err := connect()
				version := host.Version
				host.Version = func(ctx context.Context) (string, error) { write(t, path); return version(ctx) }
				return host, err
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := ""
			got := diagnose(t, hostWith(t, interceptor.Funcs{}, storefront()), func(o *Options) {
				path = filepath.Join(o.OutputDirectory, archiveName)
				when(o, path)
			}, "-n", "shop")
			if got.err == nil || exit.CodeOf(got.err) != exit.Failed || !strings.Contains(got.err.Error(), "exists already, and diagnose overwrites no file") || len(got.left) != 1 {
				t.Errorf("%v; left %v", got.err, got.left)
			}
			if name == "from before" && got.said != "" {
				t.Errorf("the command has read the host before it refused: %s", got.said)
			}
			if content, err := os.ReadFile(path); err != nil || string(content) != "mine" {
				t.Errorf("the file has %q (%v)", content, err)
			}
		})
	}
}

func write(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("mine"), 0o600); err != nil {
		t.Error(err)
	}
}

func TestAnArchiveIsBounded(t *testing.T) {
	var objects []client.Object
	for i := range 7 {
		w := storefront()
		w.Name, w.UID = fmt.Sprintf("w%d", i), ""
		objects = append(objects, w)
	}
	objects = append(objects, beside(storefront())...)
	asked := 0
	paged := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if kind := list.GetObjectKind().GroupVersionKind().Kind; kind == "FederatedList" {
			asked++
		}
		return page(ctx, c, list, opts...)
	}}
	t.Run("in wrappers", func(t *testing.T) {
		asked = 0
		got := diagnose(t, hostWith(t, paged, objects...), func(o *Options) { o.Limits = Limits{Wrappers: 4, Summaries: 1, Objects: 1, Page: 3, Bytes: 1 << 20} }, "-n", "shop")
		for _, says := range []string{"wrappers  4\n", "federateds in namespace shop: the archive has 4, and 3 more are left out", "memberreports in namespace shop: the archive has 1, and 1 more are left out",
			"summary.txt: 3 more wrappers are not healthy"} {
			if !strings.Contains(got.files["index.txt"], says) {
				t.Errorf("the index does not say %q:\n%s", says, got.files["index.txt"])
			}
		}
		if asked != 2 {
			t.Errorf("asked for %d pages, want 2", asked)
		}
		if n := strings.Count(got.files["summary.txt"], "Federated shop/"); n != 1 {
			t.Errorf("the summary has %d wrappers", n)
		}
	})
	t.Run("in no wrapper", func(t *testing.T) {
		got := diagnose(t, hostWith(t, paged, objects...), func(o *Options) { o.Limits.Page = 2 }, "-n", "shop")
		if !strings.Contains(got.files["index.txt"], "wrappers  7\n") || !strings.Contains(got.files["index.txt"], "Left out:\n  nothing\n") {
			t.Errorf("%v\n%s", got.err, got.files["index.txt"])
		}
	})
	t.Run("in bytes", func(t *testing.T) {
		got := diagnose(t, hostWith(t, interceptor.Funcs{}, objects...), func(o *Options) { o.Limits.Bytes = 2500 }, "-n", "shop")
		size := 0
		for name, content := range got.files {
			if name != "index.txt" {
				size += len(content)
			}
		}
		if size == 0 || size > 2500 || !strings.Contains(got.files["index.txt"], "files, because the archive has reached its limit of 2500 bytes") {
			t.Errorf("%d bytes: %v\n%s", size, got.names(), got.files["index.txt"])
		}
	})
}
