// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

const root = "../.."

func TestKustomizeAndHelmGiveTheSameObjects(t *testing.T) {
	out := &strings.Builder{}
	if err := check(root, out); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 0 {
		t.Error(out.String())
	}
}

func TestCompareNamesEachDifference(t *testing.T) {
	configMap := func(name, value string) object {
		return object{map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": map[string]any{"v": value}}}
	}
	namespace := func(annotations map[string]any) object {
		m := map[string]any{"name": "fairlead-system"}
		if annotations != nil {
			m["annotations"] = annotations
		}
		return object{map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": m}}
	}
	kept := map[string]any{keepPolicy: keep}
	for name, tc := range map[string]struct {
		kustomize, helm []object
		want            []string // a part of each expected line
	}{
		"nothing":                       {[]object{configMap("a", "1"), configMap("b", "1")}, []object{configMap("b", "1"), configMap("a", "1")}, nil},
		"another value":                 {[]object{configMap("a", "1")}, []object{configMap("a", "2")}, []string{"v1 ConfigMap <nil>/a (-kustomize +helm)"}},
		"only kustomize has an object":  {[]object{configMap("a", "1")}, nil, []string{"a: only kustomize renders it"}},
		"only the chart has an object":  {nil, []object{configMap("a", "1")}, []string{"a: only the chart renders it"}},
		"kustomize has an object twice": {[]object{configMap("a", "1"), configMap("a", "1")}, []object{configMap("a", "1")}, []string{"a: kustomize renders it twice"}},
		"a kept namespace":              {[]object{namespace(nil)}, []object{namespace(kept)}, nil},
		"a namespace that uninstall deletes": {[]object{namespace(nil)}, []object{namespace(nil)},
			[]string{"fairlead-system: the chart lacks the annotation helm.sh/resource-policy=keep"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := compare(tc.kustomize, tc.helm)
			if len(got) != len(tc.want) {
				t.Fatalf("got %q, want %q", got, tc.want)
			}
			for i, want := range tc.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("got %q, want %q in it", got[i], want)
				}
			}
		})
	}
}

func TestTheSchemaRefusesValues(t *testing.T) {
	for name, tc := range map[string]struct {
		values map[string]any
		word   string
	}{
		"an unknown value":               {map[string]any{"replica": 3}, "replica"},
		"an unknown value of an image":   {map[string]any{"image": map[string]any{"name": "manager"}}, "name"},
		"a tag with a plus sign":         {map[string]any{"image": map[string]any{"tag": "v1+2"}}, "tag"},
		"a digest without sha256":        {map[string]any{"image": map[string]any{"digest": "latest"}}, "digest"},
		"a digest in the repository":     {map[string]any{"image": map[string]any{"repository": "r/m@sha256:00"}}, "repository"},
		"no repository":                  {map[string]any{"image": map[string]any{"repository": ""}}, "repository"},
		"replicas as a word":             {map[string]any{"replicas": "two"}, "replicas"},
		"an unknown log level":           {map[string]any{"logLevel": "verbose"}, "logLevel"},
		"an argument without dashes":     {map[string]any{"extraArgs": []any{"max"}}, "extraArgs"},
		"a flag that the chart sets":     {map[string]any{"extraArgs": []any{"--leader-elect=false"}}, "extraArgs"},
		"a variable that the chart sets": {map[string]any{"env": []any{map[string]any{"name": "POD_UID", "value": "x"}}}, "env"},
		"a Go limit in Kubernetes' form": {map[string]any{"goMemoryLimit": "900Mi"}, "goMemoryLimit"},
		"root as the user":               {map[string]any{"podUser": 0}, "podUser"},
		"a PriorityClass with no name":   {map[string]any{"priorityClass": map[string]any{"create": true, "name": ""}}, "priorityClass"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := renderHelm(root, tc.values); err == nil || !strings.Contains(err.Error(), tc.word) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestValuesReachTheDeployment(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for name, tc := range map[string]struct {
		values map[string]any
		words  []string
	}{
		"an image by digest": {map[string]any{"image": map[string]any{"repository": "r.example/m", "tag": "v1", "digest": digest}}, []string{"r.example/m@" + digest}},
		"an image by tag":    {map[string]any{"image": map[string]any{"repository": "r.example/m", "tag": "v1"}}, []string{"r.example/m:v1"}},
		"scheduling": {map[string]any{
			"nodeSelector": map[string]any{"pool": "system"},
			"tolerations":  []any{map[string]any{"key": "dedicated", "operator": "Exists"}},
			"affinity":     map[string]any{"nodeAffinity": map[string]any{"requiredDuringSchedulingIgnoredDuringExecution": map[string]any{"nodeSelectorTerms": []any{}}}},
		}, []string{"pool: system", "key: dedicated", "nodeSelectorTerms"}},
		"a PriorityClass that exists": {map[string]any{"priorityClass": map[string]any{"create": false, "name": "critical"}}, []string{"priorityClassName: critical"}},
		"the rest": {map[string]any{
			"imagePullSecrets": []any{map[string]any{"name": "registry"}}, "replicas": 3, "logLevel": 4, "extraArgs": []any{"--max-inflight-per-member=64"},
			"resources": map[string]any{"limits": map[string]any{"memory": "2Gi"}}, "goMemoryLimit": "1800MiB",
			"env": []any{map[string]any{"name": "GOGC", "value": "50"}},
		}, []string{"value: 1800MiB", "name: GOGC", "name: registry", "replicas: 3", "--zap-log-level=4", "--max-inflight-per-member=64", "memory: 2Gi"}},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := renderHelm(root, tc.values)
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(objects, func(o object) bool { return o.content["kind"] == "Deployment" })
			text := asYAML(t, objects[at])
			for _, word := range tc.words {
				if !strings.Contains(text, word) {
					t.Errorf("%q is not in:\n%s", word, text)
				}
			}
		})
	}
}

// OpenShift assigns a user to each namespace, and refuses pods that name another user. With podUser: null the chart must name none.
func TestThePodsUserCanBeLeftToTheCluster(t *testing.T) {
	for name, tc := range map[string]struct {
		values map[string]any
		named  bool
	}{
		"by default":          {nil, true},
		"left to the cluster": {map[string]any{"podUser": nil}, false},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := renderHelm(root, tc.values)
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(objects, func(o object) bool { return o.content["kind"] == "Deployment" })
			text := asYAML(t, objects[at])
			for _, field := range []string{"runAsUser: 65532", "runAsGroup: 65532", "fsGroup: 65532"} {
				if strings.Contains(text, field) != tc.named {
					t.Errorf("%s, want %t, in:\n%s", field, tc.named, text)
				}
			}
			if !strings.Contains(text, "runAsNonRoot: true") {
				t.Error("the pod may run as root")
			}
		})
	}
}

func TestThePrometheusRuleGetsTheLabelsThatAPrometheusSelects(t *testing.T) {
	objects, err := renderHelm(root, map[string]any{"prometheusRule": map[string]any{"enabled": true, "labels": map[string]any{"release": "prom"}}})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(objects, func(o object) bool { return o.content["kind"] == "PrometheusRule" })
	if at < 0 {
		t.Fatal("the chart gives no PrometheusRule")
	}
	if labels, _ := objects[at].metadata()["labels"].(map[string]any); labels["release"] != "prom" || labels["app.kubernetes.io/name"] != "fairlead" {
		t.Errorf("labels of the PrometheusRule: %v", labels)
	}
	if slices.ContainsFunc(objects, func(o object) bool { return o.content["kind"] == "ServiceMonitor" }) {
		t.Error("prometheusRule.enabled alone gives a ServiceMonitor")
	}
}

func TestAServiceMonitorGetsTheLabelsThatAPrometheusSelects(t *testing.T) {
	objects, err := renderHelm(root, map[string]any{"serviceMonitor": map[string]any{"enabled": true, "labels": map[string]any{"release": "prom"}}})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(objects, func(o object) bool { return o.content["kind"] == "ServiceMonitor" })
	if labels, _ := objects[at].metadata()["labels"].(map[string]any); labels["release"] != "prom" || labels["app.kubernetes.io/name"] != "fairlead" {
		t.Errorf("labels: %v", labels)
	}
}

func TestTheNamespaceIsThatOfTheRelease(t *testing.T) {
	for name, tc := range map[string]struct {
		values    map[string]any
		namespace string
		words     string // a part of the error; "" means no error
	}{
		"a release in fairlead-system":                                    {nil, "fairlead-system", ""},
		"a release elsewhere":                                             {nil, "default", "install with --namespace fairlead-system"},
		"a release elsewhere that makes the namespace":                    {map[string]any{"createNamespace": true}, "default", ""},
		"a release in fairlead-system that makes the namespace, too late": {map[string]any{"createNamespace": true}, "fairlead-system", "has to be there before"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := renderRelease(root, tc.values, tc.namespace)
			if tc.words == "" && err != nil || tc.words != "" && (err == nil || !strings.Contains(err.Error(), tc.words)) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func asYAML(t *testing.T, o object) string {
	t.Helper()
	text, err := marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
