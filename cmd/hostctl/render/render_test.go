// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/overrides"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

const samples = "../../../config/samples/"

// host is a fake host, so that these tests need no cluster.
type host struct {
	members []selection.Member
	wrapper v1alpha1.Wrapper
	err     error
}

func (h host) Namespace() (string, error)                          { return "shop", nil }
func (h host) Members(context.Context) ([]selection.Member, error) { return h.members, h.err }
func (h host) Wrapper(context.Context, v1alpha1.WrapperKind, string, string) (v1alpha1.Wrapper, error) {
	return h.wrapper, h.err
}

func member(name, cloud string) selection.Member {
	return selection.Member{Name: name, Labels: map[string]string{"cloud": cloud}}
}

var fleet = host{members: []selection.Member{
	member("us-1", "gcp"), member("lab-2", "onprem"), member("eu-1", "aws"), member("lab-1", "onprem"),
}}

func run(t *testing.T, h HostReader, o Options, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	o.IOStreams, o.Host = streams, h
	if o.Output == "" {
		o.Output = "yaml"
	}
	if err = o.Complete(args); err == nil {
		if err = o.Validate(); err == nil {
			err = o.Run(t.Context())
		}
	}
	return out.String(), errOut.String(), err
}

// comments returns what follows prefix, for each line of the output that begins with prefix.
func comments(out, prefix string) []string {
	var lines []string
	for line := range strings.Lines(out) {
		if rest, found := strings.CutPrefix(line, prefix); found {
			lines = append(lines, strings.TrimSpace(rest))
		}
	}
	return lines
}

func TestEqualMembersShareOneRendering(t *testing.T) {
	out, _, err := run(t, fleet, Options{Files: []string{samples + "storageclass-fast.yaml"}})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, line := range comments(out, "# cluster ") {
		name, digest, _ := strings.Cut(line, ": rendering ")
		if !strings.HasPrefix(digest, "sha256:") {
			t.Errorf("no digest in %q", line)
		}
		names = append(names, name)
	}
	if diff := cmp.Diff([]string{"eu-1", "lab-1", "lab-2", "us-1"}, names); diff != "" {
		t.Error(diff)
	}
	want := []string{"ebs.csi.aws.com", "rancher.io/local-path", "pd.csi.storage.gke.io"}
	if diff := cmp.Diff(want, comments(out, "provisioner: ")); diff != "" {
		t.Error(diff)
	}
	if want := "#   label federation.fairlead.dev/uid: <uid of the wrapper>"; !strings.Contains(out, want) {
		t.Errorf("want %q in:\n%s", want, out)
	}
}

func TestFlagsChooseMembers(t *testing.T) {
	for name, tc := range map[string]struct {
		options Options
		want    string
	}{
		"by name":                    {Options{Clusters: []string{"lab-1"}}, "lab-1"},
		"by label":                   {Options{ClusterSelectors: []string{"cloud=onprem"}}, "lab-1 lab-2"},
		"by names and placement":     {Options{Clusters: []string{"us-1"}, ClusterSelectors: []string{"cloud=aws"}}, "eu-1 us-1"},
		"by placement":               {Options{}, "eu-1 lab-1 lab-2 us-1"},
		"without the host's members": {Options{Assumed: []string{"new,cloud=aws"}}, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			tc.options.Files, tc.options.Output = []string{samples + "storageclass-fast.yaml"}, "name"
			out, _, err := run(t, fleet, tc.options)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]bool{}
			for line := range strings.Lines(out) {
				name, object, _ := strings.Cut(strings.TrimSpace(line), "/")
				if object != "storageclass.storage.k8s.io/fast" {
					t.Errorf("want the StorageClass, got %q", object)
				}
				got[name] = true
			}
			for _, name := range strings.Fields(tc.want) {
				if !got[name] {
					t.Errorf("cluster %s is missing in %v", name, got)
				}
				delete(got, name)
			}
			if len(got) > 0 {
				t.Errorf("the output has further clusters: %v", got)
			}
		})
	}
}

func wrapperAt(clusters *v1alpha1.ClusterSelection, list ...v1alpha1.Override) *v1alpha1.Federated {
	w := &v1alpha1.Federated{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "1234"}}
	w.Spec.Objects = append(w.Spec.Objects, raw(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"color":"blue"}}`))
	w.Spec.Placement.Clusters = clusters
	w.Spec.Overrides = list
	return w
}

func TestAMemberThatIsNotPlacedIsMarked(t *testing.T) {
	h := fleet
	h.wrapper = wrapperAt(&v1alpha1.ClusterSelection{Names: []string{"eu-1"}})
	out, _, err := run(t, h, Options{Clusters: []string{"eu-1", "us-1"}}, "web")
	if err != nil {
		t.Fatal(err)
	}
	lines := comments(out, "# cluster ")
	if len(lines) != 2 || strings.Contains(lines[0], "nothing is pushed") || !strings.Contains(lines[1], "nothing is pushed there") {
		t.Errorf("only us-1 must be marked as not placed: %q", lines)
	}
	if !strings.Contains(out, "federation.fairlead.dev/uid: 1234\n") {
		t.Errorf("want the wrapper's uid in:\n%s", out)
	}
	out, notes, err := run(t, host{members: fleet.members[:1], wrapper: h.wrapper}, Options{}, "web")
	if err != nil || out != "" || !strings.Contains(notes, "selects none of the 1 clusters") {
		t.Errorf("want a note and no output, got error %v, notes %q, output %q", err, notes, out)
	}
}

func TestRenderNotesANameWithoutACluster(t *testing.T) {
	h := fleet
	h.wrapper = wrapperAt(&v1alpha1.ClusterSelection{Names: []string{"eu-1", "spook"}}, v1alpha1.Override{
		Clusters: &v1alpha1.ClusterSelection{Names: []string{"us-1", "ghost"}},
		Target:   v1alpha1.OverrideTarget{Kind: "ConfigMap"},
		Patch:    []v1alpha1.PatchOperation{{Op: v1alpha1.PatchAdd, Path: "/data/color", Value: value(`"red"`)}},
	})
	const want = "note: Federated shop/web: spec.placement.clusters.names: no MemberCluster is named spook (see `kubectl get memberclusters`)\n" +
		"note: Federated shop/web: spec.overrides[0].clusters.names: no MemberCluster is named ghost (see `kubectl get memberclusters`)\n"
	out, notes, err := run(t, h, Options{}, "web")
	if err != nil || notes != want || len(comments(out, "# cluster eu-1")) != 1 {
		t.Errorf("error %v; notes (-want +got):\n%s", err, cmp.Diff(want, notes))
	}
	if _, notes, err = run(t, h, Options{Assumed: []string{"eu-1"}}, "web"); err != nil || notes != "" {
		t.Errorf("with --assume-cluster, unknown names must cause no note, got %q (%v)", notes, err)
	}
}

func TestAnOverrideThatFailsDoesNotHideTheOthers(t *testing.T) {
	h := fleet
	h.wrapper = wrapperAt(&v1alpha1.ClusterSelection{Names: []string{"eu-1", "us-1"}}, v1alpha1.Override{
		Clusters: &v1alpha1.ClusterSelection{Names: []string{"us-1"}},
		Target:   v1alpha1.OverrideTarget{Kind: "ConfigMap"},
		Patch:    []v1alpha1.PatchOperation{{Op: v1alpha1.PatchTest, Path: "/data/color", Value: value(`"red"`)}},
	})
	out, _, err := run(t, h, Options{}, "web")
	if exit.CodeOf(err) != exit.Failed {
		t.Fatalf("want exit code 1, got %v", err)
	}
	for _, want := range []string{"overrides[0].patch[0]", "us-1", "ConfigMap web", "/data/color", "blue"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q in: %v", want, err)
		}
	}
	if diff := cmp.Diff(1, len(comments(out, "# cluster eu-1"))); diff != "" || strings.Contains(out, "us-1") {
		t.Errorf("want only cluster eu-1, got:\n%s", out)
	}
}

// Admission refuses overrides whose application takes too much work. render must refuse them, too.
func TestOverridesThatTakeTooMuchWorkAreRefused(t *testing.T) {
	w := wrapperAt(&v1alpha1.ClusterSelection{Selectors: []metav1.LabelSelector{{}}})
	w.Spec.Objects[0] = raw(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":[` + strings.Repeat("1,", 500_000) + "1]}")
	w.Spec.Overrides = nil
	for range 8 {
		o := v1alpha1.Override{Target: v1alpha1.OverrideTarget{Kind: "ConfigMap"}}
		for range 60 {
			o.Patch = append(o.Patch, v1alpha1.PatchOperation{Op: v1alpha1.PatchMove, From: "/data/500000", Path: "/data/0"})
		}
		w.Spec.Overrides = append(w.Spec.Overrides, o)
	}
	faults := overrides.ValidateWork(&w.Spec)
	h := fleet
	h.wrapper = w
	if _, _, err := run(t, h, Options{}, "shop"); len(faults) != 1 || err == nil || !strings.Contains(err.Error(), faults[0].Error()) {
		t.Errorf("admission refuses with %v, render with %v", faults, err)
	}
}

func TestJSONHasAnEntryPerMember(t *testing.T) {
	options := Options{Files: []string{samples + "shop.yaml"}, Output: "json", ClusterSelectors: []string{"cloud in (aws,gcp)"}}
	out, _, err := run(t, fleet, options)
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Cluster string
		Placed  bool
		Objects []struct {
			Object struct {
				Kind string
				Data map[string]string
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, entry := range list {
		got[entry.Cluster] = entry.Objects[0].Object.Data["cloud"]
		if !entry.Placed || len(entry.Objects) != 4 {
			t.Errorf("cluster %s is placed: %v, with %d objects", entry.Cluster, entry.Placed, len(entry.Objects))
		}
	}
	if diff := cmp.Diff(map[string]string{"eu-1": "aws", "us-1": "gcp"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsOfRenderNameTheRemedy(t *testing.T) {
	open := fleet
	open.wrapper = wrapperAt(&v1alpha1.ClusterSelection{})
	file := Options{Files: []string{samples + "shop.yaml"}}
	for name, tc := range map[string]struct {
		host    host
		options Options
		args    []string
		want    string
		code    int
	}{
		"neither a name nor a file": {fleet, Options{}, nil, "NAME or cfed/NAME", exit.Usage},
		"a name and a file":         {fleet, file, []string{"shop"}, "not both", exit.Usage},
		"another kind":              {fleet, Options{}, []string{"pod/shop"}, "cfed/NAME", exit.Usage},
		"a bad selector":            {fleet, Options{ClusterSelectors: []string{"a==b=c"}}, []string{"shop"}, "--cluster-selector", exit.Usage},
		"a bad assumed cluster":     {fleet, Options{Assumed: []string{"a,b"}}, []string{"shop"}, "LABEL=VALUE", exit.Usage},
		"an assumed cluster twice":  {fleet, Options{Assumed: []string{"a", "a"}}, []string{"shop"}, "is given twice", exit.Usage},
		"a bad output":              {fleet, Options{Output: "wide"}, []string{"shop"}, "yaml, json or name", exit.Usage},
		"a cluster that does not exist": {
			fleet,
			Options{Files: file.Files, Clusters: []string{"nowhere"}},
			nil,
			"there is no cluster nowhere; there are eu-1, lab-1, lab-2, us-1",
			exit.Failed,
		},
		"no host": {host{err: errors.New("connection refused")}, file, nil, "without a host, give --assume-cluster", exit.Failed},
		"no wrapper of that name": {
			host{err: errors.New("not found")},
			Options{},
			[]string{"cfed/fast"},
			"getting ClusterFederated fast",
			exit.Failed,
		},
		"a file without a wrapper": {
			fleet,
			Options{Files: []string{samples + "plain/shop/storefront.yaml"}},
			nil,
			"hostctl federate writes them",
			exit.Failed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := run(t, tc.host, tc.options, tc.args...)
			if err == nil || !strings.Contains(err.Error(), tc.want) || exit.CodeOf(err) != tc.code {
				t.Errorf("want exit code %d and an error with %q, got %d: %v", tc.code, tc.want, exit.CodeOf(err), err)
			}
		})
	}
	if out, _, err := run(t, open, Options{Clusters: []string{"eu-1"}}, "web"); err != nil || !strings.Contains(out, "color: blue") {
		t.Errorf("want the named cluster although the placement is empty, got: %v", err)
	}
}
