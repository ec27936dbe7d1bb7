// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/fairlead-dev/fairlead/internal/sandbox"
)

// snapshot reads the wrapper and its revisions from the host's etcd. restore writes them back, as a restore from a backup does.
// The API server could not do that: it gives each created object a new uid and generation.
func (a *author) snapshot() (restore func()) {
	a.t.Helper()
	prefixes := []string{"/registry/federation.fairlead.dev/federateds/" + a.shop + "/", "/registry/controllerrevisions/" + a.shop + "/"}
	stored := func() (all []etcdPair) {
		for _, prefix := range prefixes {
			var answer struct {
				KVs []etcdPair `json:"kvs"`
			}
			a.etcd("range", map[string]any{"key": []byte(prefix), "range_end": []byte(prefix[:len(prefix)-1] + "0")}, &answer)
			all = append(all, answer.KVs...)
		}
		return all
	}
	kept := stored()
	return func() {
		a.t.Helper()
		for _, is := range stored() {
			// restore overwrites the key of a wrapper that it brings back, so that no watch reports a deleted wrapper
			if !slices.ContainsFunc(kept, func(was etcdPair) bool { return bytes.Equal(was.Key, is.Key) }) {
				a.etcd("deleterange", map[string]any{"key": is.Key}, nil)
			}
		}
		for _, pair := range kept {
			a.etcd("put", pair, nil)
		}
	}
}

// etcdPair is a key and a value, as etcd's JSON gateway encodes them.
type etcdPair struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

// etcd calls a method of the JSON gateway of the host's etcd, and decodes the response into answer.
func (a *author) etcd(call string, request, answer any) {
	a.t.Helper()
	host, err := shared.Sandbox(a.t).Cluster(sandbox.HostName)
	if err != nil {
		a.t.Fatal(err)
	}
	file := filepath.Join(host.Dir, "pki", "etcd")
	pair, err := tls.LoadX509KeyPair(file+".crt", file+".key")
	if err != nil {
		a.t.Fatal(err)
	}
	authority, err := os.ReadFile(file + ".crt")
	if err != nil {
		a.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: roots, MinVersion: tls.VersionTLS13}}
	defer transport.CloseIdleConnections()
	body, err := json.Marshal(request)
	if err != nil {
		a.t.Fatal(err)
	}
	url := fmt.Sprintf("https://127.0.0.1:%d/v3/kv/%s", host.Ports["etcd"], call)
	req, err := http.NewRequestWithContext(a.t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	said, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode == http.StatusOK && answer != nil {
		err = json.Unmarshal(said, answer)
	}
	if err != nil || resp.StatusCode != http.StatusOK {
		a.t.Fatalf("etcd %s: %s %s %v", call, resp.Status, said, err)
	}
}
