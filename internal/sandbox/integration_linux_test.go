// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-dev/fairlead/internal/sandbox/cluster"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
	"github.com/fairlead-dev/fairlead/internal/sandbox/supervisor"
)

const namespace = "default"

// TestSandboxOnRealControlPlanes starts a sandbox, uses it, and takes it down. The control planes start only once, so each subtest relies on those before
// it. The first run on a machine builds the programs. -short skips the test.
func TestSandboxOnRealControlPlanes(t *testing.T) {
	if testing.Short() {
		t.Skip("starts control planes")
	}
	o := Options{Name: ownName(t), Members: 1, Bare: true, Audit: true} // Bare: test/e2e tests Fairlead itself
	if _, err := Down(t.Context(), o.Name); err != nil {                // an interrupted run may have left a sandbox with this name
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := Down(context.Background(), o.Name); err != nil {
			t.Error(err)
		}
	})
	w := &walk{Sandbox: up(t, o), options: o}
	steps := []struct {
		sentence string
		test     func(*testing.T)
	}{
		{"both clusters answer and have ready nodes in three zones", w.clustersAnswer},
		{"etcd refuses clients without its own certificate", w.etcdIsClosed},
		{"a claim without a class gets a volume, which is deleted with the claim", w.claimIsBound},
		{"a claim of a class without a working provisioner waits", w.unknownClassWaits},
		{"a deployment becomes available and its pods have logs", w.podsRun},
		{"a pod that was marked unready is ready again", w.podRecovers},
		{"a stopped cluster refuses and keeps its state", w.outageKeepsState},
		{"a second up leaves ready processes alone", w.upIsIdempotent},
		{"a killed supervisor is replaced, and the new one starts every process", w.supervisorIsReplaced},
		{"down leaves no process and no folder of the sandbox", w.downLeavesNothing},
	}
	for _, step := range steps {
		if !t.Run(step.sentence, step.test) {
			t.FailNow()
		}
	}
}

type walk struct {
	*Sandbox
	options Options
}

// ownName returns a name for the sandbox: the same one at each run in this checkout, and another one in each other checkout.
func ownName(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(dir)) // a hash never fails
	return fmt.Sprintf("test-sandbox-%08x", h.Sum32())
}

func up(t *testing.T, o Options) *Sandbox {
	t.Helper()
	s, err := Up(t.Context(), o, progress.New(t.Output()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (w *walk) client(t *testing.T, name string) kubernetes.Interface {
	t.Helper()
	config, err := w.RESTConfig(name)
	if err != nil {
		t.Fatal(err)
	}
	return kubernetes.NewForConfigOrDie(config)
}

func (w *walk) clustersAnswer(t *testing.T) {
	for _, name := range w.Clusters() {
		nodes, err := w.client(t, name).CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		zones := map[string]bool{}
		for _, n := range nodes.Items {
			zones[n.Labels[corev1.LabelTopologyZone]] = true
		}
		if len(zones) != 3 {
			t.Errorf("%s has %d nodes in zones %v", name, len(nodes.Items), zones)
		}
	}
	summary := w.Summary(t.Context())
	if diff := cmp.Diff([]string{StatusReady, "v1.36.3"}, []string{summary.Status, summary.Version}); diff != "" {
		t.Error(diff)
	}
}

func claim(name string, class *string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// etcdIsClosed connects to etcd as other accounts on this machine could. etcd must refuse them: it has all Secrets and checks no permissions.
func (w *walk) etcdIsClosed(t *testing.T) {
	c, err := w.Cluster(HostName)
	if err != nil {
		t.Fatal(err)
	}
	pair := func(name string) []tls.Certificate {
		loaded, err := tls.LoadX509KeyPair(filepath.Join(c.Dir, "pki", name+".crt"), filepath.Join(c.Dir, "pki", name+".key"))
		if err != nil {
			t.Fatal(err)
		}
		return []tls.Certificate{loaded}
	}
	for _, port := range []string{"etcd", "etcd-peer"} {
		at := fmt.Sprintf("127.0.0.1:%d", c.Ports[port])
		for name, tc := range map[string]struct {
			url   string
			certs []tls.Certificate
			takes bool
		}{
			"in clear text":                    {"http://" + at, nil, false},
			"without a certificate":            {"https://" + at, nil, false},
			"with the administrator's":         {"https://" + at, pair("admin"), false},
			"with the manager's":               {"https://" + at, pair("fairlead-manager-account"), false},
			"with another cluster's etcd pair": {"https://" + at, w.otherEtcd(t), false},
			"with its own":                     {"https://" + at, pair("etcd"), true},
		} {
			client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true,
				TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: tc.certs}}}
			resp, err := client.Get(tc.url + "/version")
			if err == nil {
				err = resp.Body.Close()
			}
			if takes := err == nil && resp.StatusCode == http.StatusOK; takes != tc.takes {
				t.Errorf("port %s of etcd, a client %s: accepted is %v, want the opposite (%v)", port, name, takes, err)
			}
		}
	}
}

func (w *walk) otherEtcd(t *testing.T) []tls.Certificate {
	t.Helper()
	c, err := w.Cluster("member-1")
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(c.Dir, "pki", "etcd.crt"), filepath.Join(c.Dir, "pki", "etcd.key"))
	if err != nil {
		t.Fatal(err)
	}
	return []tls.Certificate{pair}
}

func (w *walk) claimIsBound(t *testing.T) {
	client := w.client(t, "member-1").CoreV1()
	claims := client.PersistentVolumeClaims(namespace)
	if _, err := claims.Create(t.Context(), claim("data", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var bound *corev1.PersistentVolumeClaim
	eventually(t, "the claim to be bound", func() (ok bool) {
		var err error
		bound, err = claims.Get(t.Context(), "data", metav1.GetOptions{})
		return err == nil && bound.Status.Phase == corev1.ClaimBound
	})
	if diff := cmp.Diff(cluster.Class("member-1"), *bound.Spec.StorageClassName); diff != "" {
		t.Error(diff)
	}
	volume := bound.Spec.VolumeName
	if _, err := client.PersistentVolumes().Get(t.Context(), volume, metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if err := claims.Delete(t.Context(), "data", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the volume to go", func() bool {
		_, err := client.PersistentVolumes().Get(t.Context(), volume, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func (w *walk) unknownClassWaits(t *testing.T) {
	client := w.client(t, "member-1").CoreV1()
	unknown := "nobody-serves-this"
	if _, err := client.PersistentVolumeClaims(namespace).Create(t.Context(), claim("waits", &unknown), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	// The event shows that the controller has read the claim. Before that, the claim would be Pending anyhow.
	eventually(t, "an event that the class has no provisioner", func() bool {
		about := metav1.ListOptions{FieldSelector: "involvedObject.name=waits,reason=ProvisioningFailed"}
		events, err := client.Events(namespace).List(t.Context(), about)
		return err == nil && len(events.Items) > 0
	})
	got, err := client.PersistentVolumeClaims(namespace).Get(t.Context(), "waits", metav1.GetOptions{})
	if err != nil || got.Status.Phase != corev1.ClaimPending {
		t.Errorf("the claim of an unknown class is %s, want Pending (%v)", got.Status.Phase, err)
	}
}

func (w *walk) podsRun(t *testing.T) {
	client := w.client(t, "member-1")
	labels := map[string]string{"app": "web"}
	web := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					InitContainers: []corev1.Container{{Name: "init", Image: "simulated"}},
					Containers:     []corev1.Container{{Name: "web", Image: "simulated"}},
				},
			},
		},
	}
	if _, err := client.AppsV1().Deployments(namespace).Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the deployment to be available", func() bool {
		got, err := client.AppsV1().Deployments(namespace).Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && got.Status.AvailableReplicas == 1
	})
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := client.CoreV1().Pods(namespace).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{Container: "web"}).Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	log, err := io.ReadAll(stream)
	if err := errors.Join(err, stream.Close()); err != nil || !strings.Contains(string(log), "simulated") {
		t.Errorf("the log of the simulated pod is %q (%v)", log, err)
	}
}

// podRecovers sets a pod to not Ready, as Kubernetes does when a node is not ready for a moment. KWOK must make the pod Ready again.
func (w *walk) podRecovers(t *testing.T) {
	client := w.client(t, "member-1")
	pods, err := client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil {
		t.Fatal(err)
	}
	name, unready := pods.Items[0].Name, []byte(`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"NodeNotReady"}]}}`)
	_, err = client.CoreV1().Pods(namespace).Patch(t.Context(), name, types.StrategicMergePatchType, unready, metav1.PatchOptions{}, "status")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod to be ready, by a new condition and with all other fields as before", func() bool {
		pod, err := client.CoreV1().Pods(namespace).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil || len(pod.Status.Conditions) != 4 || pod.Status.PodIP == "" {
			return false
		}
		return !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Status != corev1.ConditionTrue })
	})
	eventually(t, "the deployment to be available", func() bool {
		got, err := client.AppsV1().Deployments(namespace).Get(t.Context(), "web", metav1.GetOptions{})
		return err == nil && got.Status.AvailableReplicas == 1
	})
}

func (w *walk) outageKeepsState(t *testing.T) {
	client := w.client(t, "member-1").CoreV1().ConfigMaps(namespace)
	kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}}
	if _, err := client.Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Stop(t.Context(), "member-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(t.Context(), "kept", metav1.GetOptions{}); err == nil || apierrors.IsNotFound(err) {
		t.Errorf("a request to a stopped API server returned %v, want a connection error", err)
	}
	if got := w.Summary(t.Context()).Status; got != "member-1 Stopped" {
		t.Errorf("status %q", got)
	}
	if err := w.Start(t.Context(), "member-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	spec, err := w.Cluster("member-1")
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the audit log to have the request", func() bool {
		log, err := os.ReadFile(spec.AuditLog())
		return err == nil && strings.Contains(string(log), "/configmaps/kept")
	})
}

func (w *walk) upIsIdempotent(t *testing.T) {
	extra := supervisor.Process{Cluster: HostName, Name: "extra", Path: "/bin/sleep", Args: []string{"600"}}
	if err := w.AddProcess(t.Context(), extra); err != nil {
		t.Fatal(err)
	}
	before := w.pids(t)
	up(t, w.options)
	if diff := cmp.Diff(before, w.pids(t)); diff != "" {
		t.Error(diff)
	}
}

func (w *walk) pids(t *testing.T) map[string]int {
	t.Helper()
	if err := w.WaitReady(t.Context(), HostName); err != nil {
		t.Fatal(err)
	}
	processes, err := w.Processes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pids := map[string]int{}
	for _, p := range processes {
		pids[p.Cluster+"/"+p.Name] = p.PID
	}
	return pids
}

func (w *walk) supervisorIsReplaced(t *testing.T) {
	before := w.pids(t)
	parent := parentOf(t, before["host/etcd"])
	if err := syscall.Kill(parent, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the children of the killed supervisor to end", func() bool { return len(running(before)) == 0 })
	if got := w.Summary(t.Context()).Status; got != StatusDown {
		t.Errorf("status %q", got)
	}
	up(t, w.options)
	after := w.pids(t)
	for name := range before {
		if after[name] == 0 {
			t.Errorf("process %s does not run after the supervisor was replaced", name)
		}
	}
	if _, err := w.client(t, "member-1").CoreV1().ConfigMaps(namespace).Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

func (w *walk) downLeavesNothing(t *testing.T) {
	pids := w.pids(t)
	if err := w.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := running(pids); len(left) > 0 {
		t.Errorf("processes that still run after down: %v", left)
	}
	if _, err := os.Stat(w.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the sandbox's folder still exists, or cannot be read: %v", err)
	}
}

func running(pids map[string]int) []string {
	var list []string
	for name, pid := range pids {
		if syscall.Kill(pid, 0) == nil {
			list = append(list, name)
		}
	}
	return list
}

func parentOf(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(filepath.Join("/proc", fmt.Sprint(pid), "status"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "\nPPid:")
	var parent int
	if _, err := fmt.Sscan(rest, &parent); err != nil {
		t.Fatal(err)
	}
	return parent
}

// eventually waits for up to a minute until condition is true. what names the condition in the error.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline:
			t.Fatalf("waited one minute for: %s", what)
		case <-tick.C:
		}
	}
}
