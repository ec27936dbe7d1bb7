// SPDX-License-Identifier: Apache-2.0

package author

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestScopesOfWellKnownKindsAreBuiltIn(t *testing.T) {
	for kind, want := range map[string]Scope{
		"SecurityContextConstraints.security.openshift.io": ClusterScoped,
		"Route.route.openshift.io":                         Namespaced,
		"GatewayClass.gateway.networking.k8s.io":           ClusterScoped,
		"HTTPRoute.gateway.networking.k8s.io":              Namespaced,
		"ClusterIssuer.cert-manager.io":                    ClusterScoped,
		"Certificate.cert-manager.io":                      Namespaced,
		"PrometheusRule.monitoring.coreos.com":             Namespaced,
		"ServiceMonitor.monitoring.coreos.com":             Namespaced,
		"VolumeSnapshotClass.snapshot.storage.k8s.io":      ClusterScoped,
		"CephCluster.ceph.rook.io":                         Namespaced,
		"ObjectBucketClaim.objectbucket.io":                Namespaced,
		"Teapot.example.com":                               "",
		"ClusterIssuer.example.com":                        "",
	} {
		if got := builtIn(schema.ParseGroupKind(kind)); got != want {
			t.Errorf("%s: %q", kind, got)
		}
	}
	for _, table := range []map[string]kindsOf{kubernetes, addons} {
		for group, kinds := range table {
			for kind := range strings.FieldsSeq(kinds.namespaced) {
				if strings.Contains(" "+kinds.cluster+" ", " "+kind+" ") {
					t.Errorf("%s.%s is in the lists of both scopes", kind, group)
				}
			}
		}
	}
}

func TestHostPathsAreNotedOnceAWorkload(t *testing.T) {
	const spec = "\nmetadata: {name: a, namespace: shop}\nspec: {template: {spec: {volumes: [{name: a, hostPath: {path: /dev}}, " +
		"{name: b, hostPath: {path: /var/lib/kubelet/plugins/}}, {name: c, hostPath: {path: /devices}}, {name: d, hostPath: {path: /var/lib/rook}}]}}}\n"
	for kind, want := range map[string]string{
		"DaemonSet":  "hostPath /devices, /var/lib/rook: a folder of one node",
		"Deployment": "hostPath /dev, /var/lib/kubelet/plugins/, /devices, /var/lib/rook: a folder of one node",
	} {
		_, notes := wrap(t, "apiVersion: apps/v1\nkind: "+kind+spec, Options{})
		if len(notes) != 1 || !strings.HasPrefix(notes[0].Text, want) {
			t.Errorf("%s: %v", kind, notes)
		}
	}
	_, notes := wrap(t, "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: csi, namespace: shop}\nspec: {template: {spec: {volumes: [{name: a, hostPath: {path: /dev}}]}}}\n", Options{})
	if len(notes) != 0 {
		t.Errorf("a DaemonSet of a CSI node plugin must cause no note: %v", notes)
	}
}

func TestANamespaceThatTheHostLacksIsNoted(t *testing.T) {
	const namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n"
	has := func(yes bool) func(string) (bool, error) { return func(string) (bool, error) { return yes, nil } }
	for name, tc := range map[string]struct {
		text    string
		options Options
		want    string
	}{
		"the host has the namespace":                             {webMap, Options{HasNamespace: has(true)}, ""},
		"the host lacks the namespace":                           {webMap, Options{HasNamespace: has(false), Bundle: "all"}, "Federated all: the host has no namespace shop for the wrapper. Run `kubectl create namespace shop` there first"},
		"without a host to ask":                                  {webMap, Options{}, ""},
		"without a host to ask, and the input has the namespace": {webMap + namespace, Options{Bundle: "all"}, "Federated all: Namespace shop of the input goes to the members. The wrapper itself needs a namespace of that name on the host. If the host lacks it, run `kubectl create namespace shop` there first"},
		"the input and the host have the namespace":              {webMap + namespace, Options{HasNamespace: has(true)}, ""},
		"cluster-scoped objects need no namespace":               {namespace, Options{HasNamespace: has(false)}, ""},
		"two wrappers of one namespace cause one note":           {webMap + strings.Replace("---\n"+webMap, "name: web", "name: other", 1), Options{HasNamespace: has(false)}, "Federated configmap-other: the host has no namespace shop"},
	} {
		t.Run(name, func(t *testing.T) {
			_, notes := wrap(t, tc.text, tc.options)
			if tc.want == "" && len(notes) > 0 || tc.want != "" && (len(notes) != 1 || !strings.HasPrefix(notes[0].String(), tc.want)) {
				t.Errorf("want %q, got %v", tc.want, notes)
			}
		})
	}
	manifests, _, err := Parse([]Source{{Name: "in.yaml", Data: []byte(webMap)}})
	if err != nil {
		t.Fatal(err)
	}
	broken := func(string) (bool, error) { return false, errors.New("no route to host") }
	if _, _, err := Wrap(manifests, Options{HasNamespace: broken}); err == nil || !strings.Contains(err.Error(), "asking the host for namespace shop: no route to host") {
		t.Errorf("got %v", err)
	}
}
