// SPDX-License-Identifier: Apache-2.0

package logs

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/exit"
	"github.com/fairlead-dev/fairlead/internal/testing/answering"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/internal/testing/golden"
)

// large returns a wrapper with this number of Deployments besides those of the function web.
func large(deployments int, names ...string) *v1alpha1.Federated {
	return web(func(w *v1alpha1.Federated) {
		well(w)
		for i := range deployments {
			w.Spec.Objects = append(w.Spec.Objects, build.Federated("x").With(deployment(fmt.Sprintf("more-%d", i))).Obj().Spec.Objects...)
		}
		if names != nil {
			w.Status.Placement.Clusters = names
		}
	})
}

func TestWithoutAnObjectHostctlChoosesWhatToAskAbout(t *testing.T) {
	many := []string{"m-1", "m-2", "m-3", "m-4", "m-5", "m-6", "m-7", "m-8", "m-9"}
	everywhere := crash()
	everywhere.Status.Clusters, everywhere.Status.Cluster, everywhere.Status.ClusterCount = many, many[0], int32(len(many))
	claim := build.MemberReport(web(asIs), "4444444444", "ConfigMap", "settings", "Invalid", "eu-2")
	for name, test := range map[string]struct {
		objects []client.Object
		args    []string
		asked   string
		says    string
	}{
		"the objects in trouble, where they are": {objects: []client.Object{web(asIs), crash(), quota()},
			asked: "web@eu-1 web@eu-2 web@eu-3 cache@us-1"},
		"an object in trouble, on the members of --cluster": {objects: []client.Object{web(asIs), crash(), quota()}, args: []string{"--cluster", "us-2,eu-1"},
			asked: "web@eu-1 web@us-2"},
		"all objects with pods, because the members of --cluster have no report": {objects: []client.Object{web(asIs), crash()}, args: []string{"--cluster", "us-2"},
			asked: "web@us-2 cache@us-2"},
		"all objects with pods, because what is in trouble has none": {objects: []client.Object{web(asIs), claim}, args: []string{"--cluster", "eu-2"},
			asked: "web@eu-2 cache@eu-2"},
		"a member that the wrapper is leaving is not asked": {objects: []client.Object{
			web(func(w *v1alpha1.Federated) { w.Status.Placement.Clusters = []string{"eu-2", "us-1"} }), crash()}, asked: "web@eu-2"},
		"the most objects": {objects: []client.Object{large(2)}, args: []string{"--cluster", "us-2"}, asked: "web@us-2 cache@us-2 more-0@us-2 more-1@us-2"},
		"too many objects": {objects: []client.Object{large(3)}, says: "Federated shop/web has 5 objects with pods, and hostctl asks about at most 4 at a time: " +
			"name one with --object, for example --object Deployment/web"},
		"too many members": {objects: []client.Object{large(0, many...)}, says: "Federated shop/web is placed on 9 members, and hostctl asks at most 8 at a time: " +
			"name them with --cluster, for example --cluster m-1"},
		"too many members in trouble": {objects: []client.Object{large(0, many...), everywhere}, says: "Federated shop/web has objects in trouble on 9 members, and hostctl " +
			"asks at most 8 at a time: name them with --cluster, for example --cluster m-1"},
		"no object with pods": {objects: []client.Object{web(func(w *v1alpha1.Federated) { w.Spec.Objects = w.Spec.Objects[2:] })},
			says: "Federated shop/web has no objects with pods, so it has no logs"},
	} {
		for _, flag := range []string{"--since=5m", "-f"} {
			t.Run(name+" "+flag, func(t *testing.T) {
				a := asks(test.objects...)
				a.Refuse = func(verb string, _ *v1alpha1.MemberReport) error {
					if verb == "watch" { // the requests exist, and the test needs no answers
						a.interrupt()
					}
					return nil
				}
				got := a.run(t, append(test.args, flag)...)
				var asked []string
				for _, r := range a.Created() {
					asked = append(asked, r.Spec.Object.Name+"@"+r.Spec.Cluster)
				}
				if diff := cmp.Diff(test.asked, strings.Join(asked, " ")); diff != "" {
					t.Errorf("%v: asked (-want +got):\n%s", got.err, diff)
				}
				if test.says != "" && (exit.CodeOf(got.err) != exit.Usage || got.err.Error() != test.says) {
					t.Errorf("got %v, want %s", got.err, test.says)
				}
			})
		}
	}
}

func TestTheLinesOfSeveralObjects(t *testing.T) {
	answer := func(r *answering.Request) {
		if r.Report.Spec.Object.Name == "cache" {
			r.Refuse(v1alpha1.ReasonPairHeld, "the pair is Held: HostBehindMember")
			return
		}
		r.Answer(running("web-1", "app", "listening"))
	}
	a := asks(web(well))
	a.Scripts["us-1"], a.Scripts["us-2"] = answer, answer
	got := a.run(t, "--since", "5m", "--cluster", "us-1,us-2")
	if exit.CodeOf(got.err) != exit.Failed || !exit.Silent(got.err) {
		t.Error(got.err)
	}
	golden.Equal(t, "several.out.txt", got.stdout)
	golden.Equal(t, "several.err.txt", got.stderr)
}

func TestSeveralObjectsOfAMemberAreFollowed(t *testing.T) {
	first := make(chan bool) // the answers about the second object come after those about the first
	a := asks(web(well))
	a.Scripts["us-2"] = func(r *answering.Request) {
		if r.Report.Spec.Object.Name == "web" {
			r.Answer(running("web-1", "app", "one"))
			r.Answer(running("web-1", "app", "one", "two"))
			r.Flush()
			close(first)
			return
		}
		<-first
		r.Answer(running("cache-1", "app", "one", "two", "three"))
		r.Answer(running("cache-1", "app", "two", "three", "four"))
		r.Flush()
		a.interrupt()
	}
	got := a.run(t, "-f", "--tail", "1", "--cluster", "us-2")
	if got.err != nil {
		t.Error(got.err)
	}
	want := "[us-2/web-1/app] one\n[us-2/web-1/app] two\n[us-2/cache-1/app] three\n[us-2/cache-1/app] four\n"
	if diff := cmp.Diff(want, got.stdout); diff != "" {
		t.Errorf("lines (-want +got):\n%s\n%s", diff, got.stderr)
	}
}
