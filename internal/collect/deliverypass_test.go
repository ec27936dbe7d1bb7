// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

var (
	deploymentsGVR  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	clusterRolesGVR = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	bindingsGVR     = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"}
)

func TestAKindWithProgressIsObservedUntilItIsHealthy(t *testing.T) {
	m := newMember(t)
	m.collect()
	web := object("apps/v1", "Deployment", m.namespace, "web")
	web.Object["spec"] = map[string]any{
		"replicas": int64(1),
		"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web:1"}}},
		},
	}
	m.deliver("sha256:1", m.push(deploymentsGVR, web), m.push(configMapsGVR, m.configMap("settings", "blue")))
	d := m.waitForStatus(10*time.Second, "Deployment web Progressing/LessReplicas")
	since := d.Status.Objects[0].SinceTime
	if since.IsZero() {
		t.Error("the line has no sinceTime")
	}

	// No Deployment controller runs here, so the test writes the status.
	m.patch("kcm", deploymentsGVR, "web", `{"status":{"observedGeneration":1,"replicas":1,"updatedReplicas":1,
		"conditions":[{"type":"Progressing","status":"True","reason":"ReplicaSetUpdated"}]}}`, "status")
	d = m.waitForStatus(10*time.Second, "Deployment web Progressing/LessAvailable")
	if got := d.Status.Objects[0].SinceTime; !got.Equal(&since) {
		t.Errorf("the health has not changed since %s, but the status says since %s", since, got)
	}
	m.patch("kcm", deploymentsGVR, "web", `{"status":{"readyReplicas":1,"availableReplicas":1,"conditions":[
		{"type":"Progressing","status":"True","reason":"NewReplicaSetAvailable"},{"type":"Available","status":"True"}]}}`, "status")
	d = m.waitForStatus(10 * time.Second)
	want := v1alpha1.DeliveryStatus{ObservedRendering: "sha256:1"}
	if diff := cmp.Diff(want, d.Status); diff != "" {
		t.Error(diff)
	}
}

func TestAnExpandedClaimIsNotDrift(t *testing.T) {
	m := newMember(t)
	class := object("storage.k8s.io/v1", "StorageClass", "", "fast-"+m.namespace)
	class.Object["provisioner"], class.Object["allowVolumeExpansion"] = "example.com/disk", true
	if _, err := m.client.Resource(classesGVR).Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	m.collect()
	claim := object("v1", "PersistentVolumeClaim", m.namespace, "data")
	claim.Object["spec"] = map[string]any{
		"accessModes": []any{"ReadWriteOnce"}, "storageClassName": class.GetName(),
		"resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
	}
	m.deliver("sha256:1", m.push(claimsGVR, claim), m.push(configMapsGVR, m.configMap("settings", "blue")))
	m.waitForStatus(10*time.Second, "PersistentVolumeClaim data Progressing/ClaimPending")
	m.patch("binder", claimsGVR, "data", `{"status":{"phase":"Bound","capacity":{"storage":"1Gi"}}}`, "status")
	m.waitForStatus(10 * time.Second)

	m.patch("kubectl-edit", claimsGVR, "data", `{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`)
	// When the collector reports this change, which the test makes after the expansion of the claim, it has also judged
	// the claim.
	m.patch("kubectl-edit", configMapsGVR, "settings", `{"data":{"color":"red"}}`)
	m.waitForStatus(10*time.Second, `ConfigMap settings Healthy/Drifted Changed by "kubectl-edit" [.data.color]`)
	m.patch("kubectl-edit", claimsGVR, "data", `{"metadata":{"annotations":{"`+v1alpha1.AnnotationRendering+`":"sha256:other"}}}`)
	waitFor(t, 10*time.Second, func() string {
		if got := m.delivery().Status.Objects; len(got) != 2 || got[0].Drift == nil {
			return "a claim that changed otherwise is not marked"
		}
		return ""
	})
}

func TestAClaimReportsTheEventOfItsProvisioner(t *testing.T) {
	m := newMember(t)
	c := m.collect()
	claim := object("v1", "PersistentVolumeClaim", m.namespace, "data")
	claim.Object["spec"] = map[string]any{
		"accessModes": []any{"ReadWriteOnce"}, "storageClassName": "gold-" + m.namespace,
		"resources": map[string]any{"requests": map[string]any{"storage": "1Gi"}},
	}
	waitFor(t, 10*time.Second, func() string {
		if c.heartbeat.facts.knownClasses() == nil {
			return "the classes are not known"
		}
		return ""
	})
	m.deliver("sha256:1", m.push(claimsGVR, claim))
	m.waitForStatus(10*time.Second, "PersistentVolumeClaim data Degraded/ClassNotFound")

	there, err := m.client.Resource(claimsGVR).Namespace(m.namespace).Get(t.Context(), "data", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.warn(there, "ProvisioningFailed", "quota \x1b[31mexceeded")
	// The class appears, so the collector judges the claim again.
	class := object("storage.k8s.io/v1", "StorageClass", "", "gold-"+m.namespace)
	class.Object["provisioner"] = "example.com/disk"
	if _, err := m.client.Resource(classesGVR).Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	d := m.waitForStatus(10*time.Second, "PersistentVolumeClaim data Degraded/ProvisioningFailed")
	if diff := cmp.Diff("quota exceeded", d.Status.Objects[0].Message); diff != "" {
		t.Error(diff)
	}
}

func TestAWarningThatArrivesAfterTheStatusIsReported(t *testing.T) {
	m := newMember(t)
	m.collect()
	web := object("apps/v1", "Deployment", m.namespace, "web")
	web.Object["spec"] = map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
		"template": map[string]any{
			"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "web:1"}}},
		},
	}
	m.deliver("sha256:1", m.push(deploymentsGVR, web))
	m.waitForStatus(10*time.Second, "Deployment web Progressing/LessReplicas")
	there, err := m.client.Resource(deploymentsGVR).Namespace(m.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}

	// The event changes nothing that the collector watches.
	m.warn(there, "ReplicaSetCreateError", "exceeded quota")
	waitFor(t, time.Minute, func() string {
		const want = "Replicas: 0/1; ReplicaSetCreateError: exceeded quota"
		if got := m.delivery().Status.Objects; len(got) != 1 || got[0].Message != want {
			return fmt.Sprintf("%+v is said, want %q", got, want)
		}
		return ""
	})
}

func TestAnUnhealthyObjectIsReadLessAndLessOften(t *testing.T) {
	var at []time.Duration
	since := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for lasted := time.Duration(0); lasted < 40*time.Minute; lasted += unhealthyWait(since, since.Add(lasted), since.Add(lasted)) {
		at = append(at, lasted.Round(time.Second))
	}
	want := []time.Duration{0, 5, 10, 15, 20, 25, 31, 39, 49, 61, 76, 95, 119, 149, 186, 233, 291, 364, 455, 568, 711, 888, 1110, 1388, 1688, 1988, 2288}
	for i := range want {
		want[i] *= time.Second
	}
	if diff := cmp.Diff(want, at); diff != "" {
		t.Error(diff)
	}
}

func TestAKindThatAppearsQueuesTheDeliveriesThatWaitForIt(t *testing.T) {
	m := newMember(t)
	requests := &counter{}
	m.collect(func(o *Options) {
		o.Config = rest.CopyConfig(o.Config)
		o.Config.Wrap(requests.wrap)
	})
	group := m.namespace + ".example.com"
	waits := v1alpha1.InventoryEntry{Group: group, Kind: "Greeting", Name: "hello", State: v1alpha1.EntryPending, Rendering: "sha256:x"}
	m.deliver("sha256:1", waits)
	waitFor(t, 10*time.Second, func() string {
		for _, r := range requests.take() {
			if strings.Contains(r, group) {
				return ""
			}
		}
		return "the collector has not asked for the kind"
	})

	gvr := m.serveGreetings()
	m.waitForStatus(5*time.Second, "Greeting hello Waiting/APIServed")

	// The host pushes the object, and the line disappears. A custom resource without a status becomes healthy after a
	// while.
	hello := object(group+"/v1", "Greeting", m.namespace, "hello")
	hello.Object["spec"] = map[string]any{"text": "hi"}
	m.deliver("sha256:1", m.push(gvr, hello))
	m.waitForStatus(10*time.Second, "Greeting hello Progressing/Settling")

	// The test deletes the kind, and the API server deletes its objects.
	if err := m.client.Resource(crdsGVR).Delete(t.Context(), gvr.GroupResource().String(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	m.waitForStatus(20*time.Second, `Greeting hello Healthy/Drifted Gone by "" []`)
	m.deliver("sha256:1", waits)
	m.waitForStatus(10 * time.Second)
}

func TestAForbiddenResourceIsReportedWithItsRBACRule(t *testing.T) {
	m := newMember(t)
	role := object("rbac.authorization.k8s.io/v1", "ClusterRole", "", "collector-"+m.namespace)
	role.Object["rules"] = []any{map[string]any{
		"apiGroups": []any{v1alpha1.GroupVersion.Group}, "resources": []any{"*"}, "verbs": []any{"get", "list", "watch", "patch"},
	}}
	binding := object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", "", "collector-"+m.namespace)
	binding.Object["roleRef"] = map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role.GetName()}
	binding.Object["subjects"] = []any{map[string]any{
		"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "collector-" + m.namespace,
	}}
	for gvr, obj := range map[schema.GroupVersionResource]*unstructured.Unstructured{clusterRolesGVR: role, bindingsGVR: binding} {
		if _, err := m.client.Resource(gvr).Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	m.collect(func(o *Options) {
		o.Config = rest.CopyConfig(o.Config)
		o.Config.Impersonate.UserName = "collector-" + m.namespace
	})
	m.deliver("sha256:1", m.push(configMapsGVR, m.configMap("settings", "blue")))
	d := m.waitForStatus(30*time.Second, "ConfigMap settings Waiting/NotGranted")
	want := `the collector cannot watch it; on the member, add a ClusterRole with {apiGroups: [""], resources: [configmaps], ` +
		`verbs: [get, list, watch]} and label federation.fairlead.dev/aggregate-to-collector: "true"`
	if diff := cmp.Diff(want, d.Status.Objects[0].Message); diff != "" {
		t.Error(diff)
	}
}

// warn writes a warning event about an object, as the object's controller would.
func (m *member) warn(about *unstructured.Unstructured, reason, message string) {
	m.t.Helper()
	event := object("v1", "Event", m.namespace, about.GetName()+".1")
	event.Object["involvedObject"] = map[string]any{
		"apiVersion": about.GetAPIVersion(), "kind": about.GetKind(),
		"namespace": m.namespace, "name": about.GetName(), "uid": string(about.GetUID()),
	}
	event.Object["type"], event.Object["reason"], event.Object["message"] = "Warning", reason, message
	event.Object["lastTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	if _, err := m.client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace(m.namespace).Create(m.t.Context(), event, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

// membership deletes the Membership and creates it again.
func (m *member) membership(clusterName string) {
	m.t.Helper()
	client := m.client.Resource(membershipsGVR)
	_ = client.Delete(m.t.Context(), v1alpha1.MembershipName, metav1.DeleteOptions{}) // of an earlier test, if there was one
	self := object(v1alpha1.GroupVersion.String(), "Membership", "", v1alpha1.MembershipName)
	self.Object["spec"] = map[string]any{"host": map[string]any{"uid": "u", "name": "host"}, "clusterName": clusterName}
	if _, err := client.Create(m.t.Context(), self, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() { _ = client.Delete(context.Background(), v1alpha1.MembershipName, metav1.DeleteOptions{}) })
}

// membershipStatus returns the status of the Membership.
func (m *member) membershipStatus() map[string]any {
	m.t.Helper()
	u, err := m.client.Resource(membershipsGVR).Get(m.t.Context(), v1alpha1.MembershipName, metav1.GetOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	return status
}

func TestFactsAndTheirChangesAreReported(t *testing.T) {
	m := newMember(t)
	m.membership("east")
	m.collect(func(o *Options) { o.ClusterName = "east" })
	fact := func(field string) func() any {
		return func() any {
			facts, _, _ := unstructured.NestedMap(m.membershipStatus(), "facts")
			return facts[field]
		}
	}
	waitForFact := func(within time.Duration, field, want string) {
		t.Helper()
		waitFor(t, within, func() string {
			if got := fmt.Sprint(fact(field)()); !strings.Contains(got, want) {
				return fmt.Sprintf("%s is %s, not %s", field, got, want)
			}
			return ""
		})
	}
	waitForFact(10*time.Second, "kubernetesVersion", "v1.")
	waitForFact(5*time.Second, "nodes", "0")
	if got := m.membershipStatus()["collectorVersion"]; got != "v0.0.0-test" {
		t.Errorf("collectorVersion is %v", got)
	}
	name := "own-" + m.namespace
	class := object("storage.k8s.io/v1", "StorageClass", "", name)
	class.Object["provisioner"] = "example.com/" + m.namespace
	class.SetAnnotations(map[string]string{"storageclass.kubernetes.io/is-default-class": "true"})
	if _, err := m.client.Resource(classesGVR).Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	node := object("v1", "Node", "", "node-"+m.namespace)
	node.SetLabels(map[string]string{"topology.kubernetes.io/zone": "zone-" + m.namespace})
	if _, err := m.client.Resource(nodesGVR).Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	waitForFact(5*time.Second, "defaultStorageClasses", name)
	waitForFact(5*time.Second, "storageClasses", name)
	waitForFact(5*time.Second, "provisioners", "example.com/"+m.namespace)
	waitForFact(5*time.Second, "nodes", "1")
	waitForFact(5*time.Second, "zones", "zone-"+m.namespace)

	if err := m.client.Resource(nodesGVR).Delete(t.Context(), node.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := m.client.Resource(classesGVR).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	waitForFact(5*time.Second, "zones", "<nil>")
	waitForFact(5*time.Second, "nodes", "0")
}

func TestAnotherMemberIsRefused(t *testing.T) {
	m := newMember(t)
	m.membership("west")
	c, err := New(Options{ClusterName: "east", Config: m.config})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Run(ctx); !errors.Is(err, ErrOtherMember) {
		t.Errorf("the collector ended with %v", err)
	}
}

func TestAQuietMemberCostsOnlyTheHeartbeat(t *testing.T) {
	m := newMember(t)
	m.membership("east")
	clock := clocktesting.NewFakeClock(time.Now())
	requests := &counter{}
	c := m.collect(func(o *Options) {
		o.Clock = clock
		o.Config = rest.CopyConfig(o.Config)
		o.Config.Wrap(requests.wrap)
	})
	m.deliver("sha256:1", m.push(configMapsGVR, m.configMap("settings", "blue")),
		v1alpha1.InventoryEntry{Group: "no.example.com", Kind: "Nothing", Name: "x", State: v1alpha1.EntryPending})
	waitUntilWatched(t, c, m, "settings")
	// beat moves the clock, second by second, until the next heartbeat.
	beat := func() {
		t.Helper()
		before := m.membershipStatus()["renewTime"]
		waitFor(t, 20*time.Second, func() string {
			clock.Step(time.Second)
			if m.membershipStatus()["renewTime"] == before {
				return "no heartbeat"
			}
			return ""
		})
	}
	beat()
	beat() // this heartbeat also writes the facts that were found after the first heartbeat
	resourceVersion := m.delivery().ResourceVersion
	for _, request := range requests.take() {
		if strings.HasPrefix(request, "PATCH") && strings.Contains(request, "/deliveries/") {
			t.Errorf("request %s, although nothing had changed", request)
		}
	}
	beat()
	beat()
	if diff := cmp.Diff([]string{
		"PATCH /apis/federation.fairlead.dev/v1alpha1/memberships/self/status",
		"PATCH /apis/federation.fairlead.dev/v1alpha1/memberships/self/status",
	}, requests.take()); diff != "" {
		t.Error(diff)
	}
	if got := m.delivery().ResourceVersion; got != resourceVersion {
		t.Error("the Delivery was written, although nothing had changed")
	}
}
