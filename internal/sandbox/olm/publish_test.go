// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		published []string
		version   string
		want      Publication
		err       string
	}{
		"the next version is published": {
			published: []string{"v1.0.0"}, version: "v1.1.0", want: Published,
		},
		"the last version is published after the one it replaces": {
			published: []string{"v1.0.0", "v1.1.0"}, version: "v1.2.0", want: Published,
		},
		"a version that is in the catalog is already published": {
			published: []string{"v1.0.0", "v1.1.0"}, version: "v1.0.0", want: AlreadyPublished,
		},
		"a version is not published before the one it replaces": {
			published: []string{"v1.0.0"}, version: "v1.2.0",
			err: "version v1.2.0 of demo-operator replaces a version that is not published yet: the catalog has v1.0.0; v1.1.0 is the next one to publish",
		},
		"the refusal of an unknown version names the version to publish next": {
			published: []string{"v1.0.0", "v1.1.0"}, version: "1.2",
			err: "there is no version \"1.2\" of demo-operator: the catalog has v1.0.0, v1.1.0; v1.2.0 is the next one to publish",
		},
		"after the last version no further version can be published": {
			published: []string{"v1.0.0", "v1.1.0", "v1.2.0"}, version: "v1.3.0",
			err: "there is no version \"v1.3.0\" of demo-operator: the catalog has v1.0.0, v1.1.0, v1.2.0; all versions are published",
		},
		"an empty version is refused, also after the last version": {
			published: []string{"v1.0.0", "v1.1.0", "v1.2.0"}, version: "",
			err: "there is no version \"\" of demo-operator: the catalog has v1.0.0, v1.1.0, v1.2.0; all versions are published",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := judge(test.published, test.version)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			message := ""
			if refusal := (*RefusedError)(nil); errors.As(err, &refusal) {
				message = refusal.Error()
			}
			if diff := cmp.Diff(test.err, message); diff != "" {
				t.Errorf("refusal (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPublishOnAClusterWithoutOLM(t *testing.T) {
	_, err := Publish(t.Context(), Cluster{Name: "member-1", Dir: t.TempDir()}, "v1.1.0")
	want := "publishing v1.1.0 on member-1: it has no catalog, because the sandbox was started without --olm: `hostctl sandbox up --olm` adds it"
	if err == nil || err.Error() != want {
		t.Errorf("want %q, got %v", want, err)
	}
}

func TestProcessesAreKeptFromTheUsersEnvironment(t *testing.T) {
	c := Cluster{Dir: "/s/member-1", Kubeconfig: "/s/member-1/kubeconfig", Binaries: "/b"}
	processes := map[string]Command{}
	for _, p := range c.processes("127.0.0.1:4000") {
		processes[p.Name] = p
		for _, variable := range []string{"CI", "HTTPS_PROXY", "grpc_proxy"} {
			if !slices.Contains(p.Unset, variable) {
				t.Errorf("process %s must not inherit the variable %s", p.Name, variable)
			}
		}
	}
	if len(processes) != 3 {
		t.Fatalf("want three processes, got %v", processes)
	}
	if !slices.Contains(processes["olm"].Env, "KUBECONFIG="+c.Kubeconfig) {
		t.Errorf("olm takes its kubeconfig from KUBECONFIG only, and has %v", processes["olm"].Env)
	}
	if !slices.Contains(processes["catalog"].Args, "--kubeconfig="+c.Kubeconfig) {
		t.Errorf("the arguments of catalog are %v", processes["catalog"].Args)
	}
	want := "--dir=/s/member-1/olm/catalog --listen=127.0.0.1:4000 --cache-dir=/s/member-1/olm/index"
	if args := strings.Join(processes["catalogserver"].Args, " "); args != want {
		t.Errorf("the arguments of catalogserver are %s", args)
	}
}

func TestStatedLeavesOutStatusAndCreationTime(t *testing.T) {
	for _, o := range append(namespaces(), objects("127.0.0.1:4000")...) {
		got, err := stated(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, has := got.Object["status"]; has {
			t.Errorf("the applied %s has a status, which the apply would then own", got.GetKind())
		}
		if _, has := got.Object["metadata"].(map[string]any)["creationTimestamp"]; has {
			t.Errorf("the applied %s has a creation time, which the apply would then own", got.GetKind())
		}
		if got.GetKind() == "" || got.GetAPIVersion() == "" {
			t.Errorf("%T has no kind", o)
		}
	}
}
