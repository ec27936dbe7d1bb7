// SPDX-License-Identifier: Apache-2.0

package join

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/sandbox/cluster"
)

func TestJoinWarnsWhenASandboxGetsAMemberOnAnotherMachine(t *testing.T) {
	sandbox := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !strings.HasSuffix(req.URL.Path, "/csidrivers/"+cluster.Driver) {
			http.NotFound(w, req)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": "`+cluster.Driver+`"}, "spec": {}}`)
	}))
	defer sandbox.Close()
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()

	for name, tc := range map[string]struct {
		host, endpoint string
		warned         bool
	}{
		"a sandbox and a member elsewhere":      {sandbox.URL, "https://10.255.0.7:6443", true},
		"a sandbox and a member behind a name":  {sandbox.URL, "https://eu-1.example.com", true},
		"a sandbox and a member of its own":     {sandbox.URL, "https://127.0.0.1:6443", false},
		"another host and a member elsewhere":   {other.URL, "https://10.255.0.7:6443", false},
		"a host that does not answer":           {"http://127.0.0.1:1", "https://10.255.0.7:6443", false},
		"a sandbox and what leads to localhost": {sandbox.URL, "https://localhost:6443", false},
	} {
		t.Run(name, func(t *testing.T) {
			streams, _, _, errOut := genericiooptions.NewTestIOStreams()
			o := &Options{IOStreams: streams, host: &rest.Config{Host: tc.host}}
			r := &join.Result{Name: "eu-1", Endpoint: tc.endpoint}
			o.warnOfSandbox(t.Context(), r)
			if warned := strings.Contains(errOut.String(), "hostctl unjoin eu-1"); warned != tc.warned {
				t.Errorf("warned: %v\n%s", warned, errOut)
			}
		})
	}
}

func TestIsHereRecognisesTheAddressesOfThisMachine(t *testing.T) {
	own := []net.Addr{&net.IPNet{IP: net.IPv4(192, 168, 1, 5), Mask: net.CIDRMask(24, 32)}}
	for endpoint, want := range map[string]bool{
		"https://192.168.1.5:6443": true, "https://192.168.1.6:6443": false, "https://[::1]:6443": true, "https://a.localhost": true, "%": false,
	} {
		if isHere(endpoint, own) != want {
			t.Errorf("%s: %v", endpoint, !want)
		}
	}
}
