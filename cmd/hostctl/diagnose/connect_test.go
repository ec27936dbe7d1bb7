// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
)

func TestTheHostIsAskedForItsVersionAndForTheEndsOfLogs(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.String() {
		case "/version?timeout=30s":
			_, _ = io.WriteString(w, `{"gitVersion":"v1.36.3"}`)
		case "/api/v1/namespaces/fairlead-system/pods/manager-1/log?container=manager&previous=true&tailLines=2000&timeout=30s&timestamps=true":
			_, _ = io.WriteString(w, "the end")
		default:
			http.Error(w, r.URL.String(), http.StatusTeapot)
		}
	}))
	t.Cleanup(server.Close)
	config := clientcmdapi.NewConfig()
	config.Clusters["host"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["host"] = &clientcmdapi.Context{Cluster: "host"}
	config.CurrentContext = "host"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
	host, err := connectWith(connect.Flags())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := host.Version(t.Context()); err != nil || got != "v1.36.3" {
		t.Errorf("version %q: %v", got, err)
	}
	log, err := host.Log(t.Context(), "fairlead-system", "manager-1", "manager", true)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(log); err != nil || string(content) != "the end" {
		t.Errorf("log %q: %v", content, err)
	}
}
