// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
	"github.com/fairlead-dev/fairlead/internal/testing/secretcorpus"
)

// leaky returns objects with a text in every field that a person, a program or a member can fill.
func leaky(text string) []client.Object {
	w := build.Federated("storefront").In("shop").Annotated("note", text).To("eu-1").With(build.ConfigMap("settings", "file", text),
		build.Manifest("{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: a, args: [%q], env: [{name: X, value: %[1]q}]}]}}", text)).Overriding(
		v1alpha1.Override{Target: v1alpha1.OverrideTarget{Kind: "ConfigMap", Name: "settings"}, Patch: []v1alpha1.PatchOperation{build.Patch("add", "/data/x", text)}},
		v1alpha1.Override{Target: v1alpha1.OverrideTarget{Kind: "ConfigMap", Name: "settings"}, Merge: build.JSON(map[string]any{"data": map[string]any{"y": text}})}).Obj()
	w.UID = "u"
	w.Status.ObservedGeneration = 1
	w.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "x", Message: text}}
	w.Status.Clusters = []v1alpha1.ClusterStatus{{Name: "eu-1", State: v1alpha1.StateDegraded, Reason: "CrashLoopBackOff", Message: text}}
	report := build.MemberReport(w, "1111111111", "Deployment", "web", "CrashLoopBackOff", "eu-1")
	report.Status.Message = text
	report.Status.Containers = []v1alpha1.ObservedContainer{{Pod: "web-1", Name: "app", State: "Waiting", Log: "starting\n" + text + "\nstopped", PreviousLog: text}}
	report.Status.Events = []v1alpha1.ObservedEvent{{Kind: "Pod", Name: "web-1", Reason: "BackOff", Message: text}}
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "e"}, InvolvedObject: corev1.ObjectReference{Kind: "Federated", UID: "u"}, Reason: "x", Message: text}
	member := &v1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1", Annotations: map[string]string{"note": text}}}
	member.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: "False", Reason: "x", Message: text}}
	return []client.Object{w, report, event, member}
}

func TestNoSecretOfTheCorpusIsInTheArchive(t *testing.T) {
	for i, text := range secretcorpus.Lines(t) {
		host := hostWith(t, interceptor.Funcs{}, append(leaky(text), fairlead()[2])...)
		host.Log = func(context.Context, string, string, string, bool) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader("starting\n" + text + "\nstopped\n")), nil
		}
		got := diagnose(t, host, asItIs)
		if got.err != nil || len(got.files) < 10 {
			t.Fatalf("%v: %v", got.err, got.names())
		}
		for name, content := range got.files {
			if strings.Contains(content, "CANARY") {
				t.Errorf("line %d %q is in %s:\n%s", i, text, name, content)
			}
		}
		if strings.Contains(got.said, "CANARY") || strings.Contains(got.said, "redacted: 0 texts") {
			t.Errorf("said %s", got.said)
		}
	}
}

// The index shows the errors of the host as the reasons why parts were not read. Such an error can contain a secret.
func TestNoSecretIsInAReason(t *testing.T) {
	funcs := interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
		if list.GetObjectKind().GroupVersionKind().Kind == "FederatedList" {
			return fmt.Errorf("a proxy says: Authorization: Bearer t5Pv74GDqQ7EyIMttFPSuECANARYPyHnvnzXtsMM")
		}
		return c.List(ctx, list, opts...)
	}}
	got := diagnose(t, hostWith(t, funcs, everything()...), asItIs, "-n", "shop")
	if strings.Contains(got.all()+got.said, "CANARY") || !strings.Contains(got.files["index.txt"], "a proxy says: Authorization: Bearer [redacted]") {
		t.Errorf("%v: %s\n%s", got.err, got.said, got.files["index.txt"])
	}
}

// hidden is a value that looks like no secret. Only its place tells that it is one.
const hidden = "plainwords"

func TestValuesOfSecretsAreReplacedByTheirLengths(t *testing.T) {
	encoded := base64.StdEncoding.EncodeToString([]byte(hidden))
	for name, test := range map[string]struct{ object, has string }{
		"a Secret":                           {`{apiVersion: v1, kind: Secret, metadata: {name: x}, data: {a: ` + encoded + `}, stringData: {b: plainwords}}`, "data:\n  a: <10 bytes>\n"},
		"text of a Secret":                   {`{apiVersion: v1, kind: Secret, metadata: {name: x}, stringData: {b: plainwords}}`, "stringData:\n  b: <10 bytes>\n"},
		"a Secret in a List":                 {`{apiVersion: v1, kind: List, items: [{kind: Secret, data: {a: ` + encoded + `}}]}`, "a: <10 bytes>"},
		"a Secret in a SecretList":           {`{apiVersion: v1, kind: SecretList, items: [{data: {a: ` + encoded + `}}]}`, "a: <10 bytes>"},
		"a Secret in a Template":             {`{kind: Template, objects: [{kind: Secret, stringData: {a: plainwords}}]}`, "a: <10 bytes>"},
		"the template of a SealedSecret":     {`{kind: SealedSecret, spec: {template: {data: {a: plainwords}}}}`, "a: <10 bytes>"},
		"stringData of any kind":             {`{kind: Other, spec: {stringData: {a: plainwords}}}`, "a: <10 bytes>"},
		"data that are a list":               {`{kind: Secret, data: [plainwords, {a: 5}]}`, "- <10 bytes>\n- a: <1 bytes>"},
		"a manifest in a text":               {`{kind: ConfigMap, data: {f: "kind: Secret\ndata:\n  a: plainwords\n"}}`, "f: <35 bytes>, with a Secret"},
		"a manifest as JSON in a text":       {`{kind: ConfigMap, data: {f: '{"kind":"Secret","stringData":{"a":"plainwords"}}'}}`, "with a Secret"},
		"a manifest as JSON in JSON":         {`{kind: ConfigMap, data: {f: '{\"kind\":\"Secret\",\"data\":{\"a\":\"plainwords\"}}'}}`, "with a Secret"},
		"a patch of a Secret":                {`{target: {kind: Secret}, patch: [{op: add, path: /metadata/labels/x, value: {z: plainwords}}]}`, "z: <10 bytes>"},
		"a merge of a Secret":                {`{target: {kind: Secret}, merge: {whatever: {z: plainwords}}}`, "z: <10 bytes>"},
		"the default of a patch of a Secret": {`{target: {kind: Secret}, patch: [{op: add, path: /data/x, valueFrom: {fieldPath: f, default: plainwords}}]}`, "default: <10 bytes>"},
		"a patch of a Secret in a Template":  {`{target: {kind: Template}, patch: [{op: add, path: /objects/0/data/x, value: plainwords}]}`, "value: <10 bytes>"},
		"a patch that adds data":             {`{target: {kind: Template}, patch: [{op: add, path: /objects/0, value: {data: {x: plainwords}}}]}`, "x: <10 bytes>"},
		"a merge into a Template":            {`{target: {kind: Template}, merge: {x: {data: {z: plainwords}}}}`, "z: <10 bytes>"},
		"a patch of a variable":              {`{target: {kind: Deployment}, patch: [{op: add, path: /spec/template/spec/containers/0/env/0/value, value: plainwords}]}`, "value: <10 bytes>"},
		"a patch that is a text":             {`{target: {kind: Secret}, patch: [{op: add, path: /stringData, value: plainwords}]}`, "value: <10 bytes>"},
		"a variable":                         {`{env: [{name: DB_PASSWORD, value: plainwords}]}`, "value: '[redacted]'"},
		"a header":                           {`{httpHeaders: [{name: Authorization, value: plainwords}]}`, "value: '[redacted]'"},
		"a key that tells of a secret":       {`{kind: ConfigMap, data: {db-password: plainwords}}`, "db-password: '[redacted]'"},
		"a field below such a key":           {`{spec: {credentials: {value: plainwords}}}`, "value: '[redacted]'"},
		"a number":                           {`{spec: {password: 424242}}`, "password: '[redacted]'"},
		"an argument after a flag":           {`{args: [--user, bob, --password, plainwords]}`, "- '[redacted]'"},
		"a list below such a key":            {`{tokens: [plainwords, "8q8wd5J5b16dXX"]}`, "- '[redacted]'"},
		"a patch of such a key":              {`{target: {kind: ConfigMap}, patch: [{op: add, path: /data/password, value: plainwords}]}`, "value: '[redacted]'"},
		"an escape sequence after the key":   {`{note: "password=\e[1mplainwords\e[0m"}`, "password=[redacted]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := redaction{}
			text := redactYAML(t, &r, test.object)
			if strings.Contains(text, hidden) || strings.Contains(text, encoded) || strings.Contains(text, "424242") || !strings.Contains(text, test.has) {
				t.Errorf("want %q in:\n%s", test.has, text)
			}
			if r.texts+r.secrets == 0 {
				t.Error("the redaction is not counted")
			}
		})
	}
}

func redactYAML(t *testing.T, r *redaction, text string) string {
	t.Helper()
	obj := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	before, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	content, err := yaml.Marshal(r.object(obj))
	if err != nil {
		t.Fatal(err)
	}
	if after, err := json.Marshal(obj); err != nil || string(after) != string(before) {
		t.Errorf("the object itself is changed (%v):\n%s", err, cmp.Diff(string(before), string(after)))
	}
	return string(content)
}

// An archive in which everything is redacted helps nobody.
func TestWhatIsNoSecretStays(t *testing.T) {
	const manifest = `apiVersion: apps/v1
kind: Deployment
metadata:
  labels:
    app: web
  name: web
  uid: 9d6e2f1c-0b4a-4c1e-9f3e-2a7b6c5d4e3f
spec:
  replicas: 3
  template:
    spec:
      automountServiceAccountToken: false
      containers:
      - args:
        - --config
        - /etc/web.yaml
        env:
        - name: COLOR
          value: blue
        - name: PASSWORD
          valueFrom:
            secretKeyRef:
              key: password
              name: db
        image: registry.example.com/shop/web@sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
        name: web
      imagePullSecrets:
      - name: pull
      volumes:
      - name: tls
        secret:
          defaultMode: 420
          secretName: web-tls
      - configMap:
          name: settings
        name: config
status:
  conditions:
  - lastTransitionTime: "2026-01-02T03:04:05Z"
    message: pod web-5d8f7c9b64-x7k4p is not ready
    status: "False"
  observed: null
  ratio: 0.5
`
	r := redaction{}
	if diff := cmp.Diff(manifest, redactYAML(t, &r, manifest)); diff != "" || r != (redaction{}) {
		t.Errorf("%+v (-want +got):\n%s", r, diff)
	}
}

func TestABundleIsReplacedByItsDigests(t *testing.T) {
	r := redaction{}
	obj := &unstructured.Unstructured{Object: map[string]any{"webhooks": []any{
		map[string]any{"clientConfig": map[string]any{"caBundle": base64.StdEncoding.EncodeToString(certificate(t))}},
		map[string]any{"clientConfig": map[string]any{"caBundle": base64.StdEncoding.EncodeToString([]byte("no PEM"))}},
		map[string]any{"clientConfig": map[string]any{"caBundle": "?"}}}}}
	content, err := yaml.Marshal(r.object(obj.Object))
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	if !strings.Contains(text, "caBundle: sha256:") || !strings.Contains(text, "expires 2027-01-02T03:04:05Z") || !strings.Contains(text, "<6 bytes>, no certificate") {
		t.Errorf("got %s", text)
	}
}

func TestOfALongLogTheEndIsRead(t *testing.T) {
	for name, test := range map[string]struct {
		log   string
		lines int
	}{
		"short":                   {"one\ntwo\n", 2},
		"without a last newline":  {"one\ntwo", 1},
		"empty":                   {"", 0},
		"long":                    {strings.Repeat(strings.Repeat("x", 99)+"\n", 50_000), logBytes / 100},
		"a line that is too long": {strings.Repeat("x", 3*logBytes), 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := endOf(strings.NewReader(test.log))
			if err != nil || strings.Count(string(got), "\n") != test.lines || !strings.HasSuffix(test.log, string(got)) || len(got) > logBytes {
				t.Errorf("%d bytes and %d lines (%v), want %d lines", len(got), strings.Count(string(got), "\n"), err, test.lines)
			}
		})
	}
}
