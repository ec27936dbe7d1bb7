// SPDX-License-Identifier: Apache-2.0

package complete

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
)

// kubeconfig writes a kubeconfig whose context has this server and the namespace shop, and returns its path.
func kubeconfig(t *testing.T, server string) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["host"] = &clientcmdapi.Cluster{Server: server}
	config.Contexts["host"] = &clientcmdapi.Context{Cluster: "host", Namespace: "shop"}
	config.CurrentContext = "host"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// hostWith starts a server that answers lists with these names. The keys of names are URL paths. It returns a kubeconfig for the server.
func hostWith(t *testing.T, names map[string][]string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
		found, ok := names[r.URL.Path]
		if !ok {
			http.Error(w, "no right to list "+r.URL.Path, http.StatusForbidden)
			return
		}
		for _, name := range found {
			list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(list); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const group = "/apis/federation.fairlead.dev/v1alpha1/"

func TestNamesAreCompletedFromTheHost(t *testing.T) {
	all := map[string][]string{
		group + "namespaces/shop/federateds":  {"shop", "storefront"},
		group + "namespaces/other/federateds": {"else"},
		group + "clusterfederateds":           {"fast", "standard"},
		group + "memberclusters":              {"eu-1", "eu-2", "us-1"},
	}
	tests := map[string]struct {
		host  map[string][]string
		args  []string
		begun string
		of    func(*cobra.Command) cobra.CompletionFunc
		want  []string
	}{
		"wrappers of both scopes":                  {all, nil, "", wrapperArgument, []string{"shop", "storefront", "cfed/fast", "cfed/standard"}},
		"wrappers with this prefix":                {all, nil, "st", wrapperArgument, []string{"storefront"}},
		"wrappers of the cluster scope":            {all, nil, "cfed/s", wrapperArgument, []string{"cfed/standard"}},
		"a second wrapper is not an argument":      {all, []string{"shop"}, "", wrapperArgument, nil},
		"members after a wrapper":                  {all, []string{"shop", "eu-2"}, "us", wrapperAndMembers, []string{"us-1"}},
		"the wrapper before members":               {all, nil, "st", wrapperAndMembers, []string{"storefront"}},
		"a wrapper or a kind":                      {all, nil, "cfed/f", kindAndWrapper, []string{"cfed/fast"}},
		"the wrappers of a kind":                   {all, []string{"fed"}, "st", kindAndWrapper, []string{"storefront"}},
		"the wrappers of the other kind":           {all, []string{"cfed"}, "", kindAndWrapper, []string{"fast", "standard"}},
		"nothing after a wrapper":                  {all, []string{"shop"}, "", kindAndWrapper, nil},
		"nothing after a kind and a wrapper":       {all, []string{"fed", "shop"}, "", kindAndWrapper, nil},
		"members":                                  {all, nil, "eu", memberArgument, []string{"eu-1", "eu-2"}},
		"a flag that takes members":                {all, []string{"shop"}, "", clusterFlag, []string{"eu-1", "eu-2", "us-1"}},
		"a flag that takes members, after a comma": {all, []string{"shop"}, "us-1,eu", clusterFlag, []string{"us-1,eu-1", "us-1,eu-2"}},
		"a host that forbids to list members":      {map[string][]string{}, nil, "", memberArgument, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", kubeconfig(t, hostWith(t, tt.host)))
			cmd := &cobra.Command{Use: "approve"}
			cmd.SetContext(t.Context())
			got, directive := tt.of(cmd)(cmd, tt.args, tt.begun)
			if diff := cmp.Diff(tt.want, append([]string(nil), got...)); diff != "" {
				t.Error(diff)
			}
			if directive != cobra.ShellCompDirectiveNoFileComp {
				t.Errorf("with directive %d the shell would offer files", directive)
			}
		})
	}
}

func wrapperArgument(*cobra.Command) cobra.CompletionFunc { return Wrapper(connect.Flags()) }
func wrapperAndMembers(*cobra.Command) cobra.CompletionFunc {
	return WrapperAndMembers(connect.Flags())
}
func kindAndWrapper(*cobra.Command) cobra.CompletionFunc { return KindAndWrapper(connect.Flags()) }
func memberArgument(*cobra.Command) cobra.CompletionFunc { return Member(connect.Flags()) }
func clusterFlag(cmd *cobra.Command) cobra.CompletionFunc {
	cmd.Flags().StringSlice("cluster", nil, "")
	MemberFlags(cmd, connect.Flags(), "cluster")
	complete, _ := cmd.GetFlagCompletionFunc("cluster")
	return complete
}

func TestCompletionIsSilentAndBoundedWithoutAHost(t *testing.T) {
	stop := make(chan struct{})
	hanging := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-stop }))
	t.Cleanup(func() { close(stop); hanging.Close() })
	broken := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(broken, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{
		"no kubeconfig":                      filepath.Join(t.TempDir(), "none"),
		"a broken kubeconfig":                broken,
		"an address where no server listens": kubeconfig(t, "http://127.0.0.1:1"),
		"a host that does not answer":        kubeconfig(t, hanging.URL),
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", path)
			cmd := &cobra.Command{Use: "approve"}
			cmd.SetContext(t.Context())
			began := time.Now()
			got, _ := Wrapper(connect.Flags())(cmd, nil, "")
			if took := time.Since(began); len(got) > 0 || took > within+3*time.Second {
				t.Errorf("completion returned %v after %s, want nothing and soon", got, took)
			}
		})
	}
}
