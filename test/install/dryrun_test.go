// SPDX-License-Identifier: Apache-2.0

package install

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/config"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
)

// TestTheAPIServerAcceptsWhatIsInstalled applies the objects that config/default and the chart render, as a dry run. The API server checks
// them, and warns if Pod Security would refuse the Deployment's pods. Pod Security refuses pods only, never Deployments. So the
// test also creates a pod of the Deployment, as a dry run.
func TestTheAPIServerAcceptsWhatIsInstalled(t *testing.T) {
	box := shared.Sandbox(t)
	_, admin := connect(t, box, sandbox.HostName)
	apply(t, admin, config.CRD, config.RBAC)
	for _, args := range [][]string{{"kustomize"}, {"helm"}, {"kustomize", "monitoring"}, {"helm", "monitoring"}, {"kustomize", "cert-manager"}, {"helm", "cert-manager"}} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			host, warned := warning(t, box)
			for _, obj := range rendered(t, args...) {
				err := host.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(obj), client.DryRunAll,
					client.FieldOwner("test-install"), client.ForceOwnership)
				if meta.IsNoMatchError(err) && slices.Contains([]string{"ServiceMonitor", "PrometheusRule", "Certificate", "Issuer"}, obj.GetKind()) {
					continue // a kind of the Prometheus operator or of cert-manager, which are not installed here
				}
				if err != nil {
					t.Errorf("applying %s %s: %v", obj.GetKind(), obj.GetName(), err)
				}
				if obj.GetKind() == "Deployment" {
					createPod(t, host, obj)
				}
			}
			if all := warned.all(); len(all) > 0 {
				t.Errorf("the API server must not warn of the installed objects: %q", all)
			}
		})
	}
}

// TestPodSecurityRefusesAPodThatMayBecomeRoot shows that Pod Security is on in the sandbox, so TestTheAPIServerAcceptsWhatIsInstalled proves something.
func TestPodSecurityRefusesAPodThatMayBecomeRoot(t *testing.T) {
	box := shared.Sandbox(t)
	_, host := connect(t, box, sandbox.HostName)
	apply(t, host, config.CRD, config.RBAC)
	pod := podOf(t, deployment(t, rendered(t, "kustomize")))
	pod.Spec.Containers[0].SecurityContext.AllowPrivilegeEscalation = nil
	if err := host.Create(t.Context(), pod, client.DryRunAll); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "PodSecurity") {
		t.Errorf("got %v", err)
	}
}

// rendered returns the objects that hack/manifests renders with these arguments.
func rendered(t *testing.T, args ...string) (objects []*unstructured.Unstructured) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"run", ".", "render"}, args...)...)
	cmd.Dir = "../../hack/manifests"
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("rendering %s: %v\n%s", args, err, said.String())
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		obj := &unstructured.Unstructured{}
		switch err := decoder.Decode(obj); {
		case errors.Is(err, io.EOF):
			return objects
		case err != nil:
			t.Fatal(err)
		case len(obj.Object) > 0:
			objects = append(objects, obj)
		}
	}
}

func deployment(t *testing.T, objects []*unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	at := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" })
	if at < 0 {
		t.Fatal("the rendered objects have no Deployment")
	}
	return objects[at]
}

func podOf(t *testing.T, obj *unstructured.Unstructured) *corev1.Pod {
	t.Helper()
	d := &appsv1.Deployment{}
	if err := convert(obj, d); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: d.Spec.Template.ObjectMeta, Spec: d.Spec.Template.Spec}
	pod.Namespace, pod.Name = d.Namespace, "manager"
	pod.Spec.PriorityClassName = "" // the PriorityClass does not exist: the dry run did not store it
	return pod
}

func createPod(t *testing.T, host client.Client, obj *unstructured.Unstructured) {
	t.Helper()
	if err := host.Create(t.Context(), podOf(t, obj), client.DryRunAll); err != nil {
		t.Errorf("creating the pod of %s: %v", obj.GetName(), err)
	}
}

// warnings collects the warnings in the responses of API servers.
type warnings struct {
	mu   sync.Mutex
	text []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, text)
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.text)
}

// warning returns a client with an administrator's rights for the host, and the warnings that this client gets.
func warning(t *testing.T, box *sandbox.Sandbox) (client.Client, *warnings) {
	t.Helper()
	cfg, _ := connect(t, box, sandbox.HostName)
	found := &warnings{}
	cfg.WarningHandlerWithContext = found
	c, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c, found
}
