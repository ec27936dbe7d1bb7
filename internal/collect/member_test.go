// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/digest"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
	"github.com/fairlead-dev/fairlead/internal/sandbox"
	"github.com/fairlead-dev/fairlead/internal/sandbox/binaries"
	"github.com/fairlead-dev/fairlead/internal/sandbox/progress"
)

var (
	namespacesGVR = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	configMapsGVR = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	claimsGVR     = objectcache.Claims.WithVersion("v1")
)

// server is the one real API server of this package's tests.
var server struct {
	once   sync.Once
	env    *envtest.Environment
	config *rest.Config
	err    error

	programs string // the directory with its programs
}

func TestMain(m *testing.M) {
	code := m.Run()
	if server.env != nil {
		_ = server.env.Stop() // an error does not matter: the processes end with this one
	}
	if server.programs != "" {
		_ = os.RemoveAll(server.programs) // the directory has only links
	}
	os.Exit(code)
}

// member is a member without a host: the test makes the host's writes.
type member struct {
	t         *testing.T
	config    *rest.Config
	client    dynamic.Interface
	namespace string
}

// refOf identifies a ConfigMap in the test's namespace.
func (m *member) refOf(configMap string) deliveryindex.Ref {
	return deliveryindex.Ref{
		GroupResource:  configMapsGVR.GroupResource(),
		NamespacedName: types.NamespacedName{Namespace: m.namespace, Name: configMap},
	}
}

// newMember returns the API server with a namespace of the test's own.
func newMember(t *testing.T) *member {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real API server: run without -short")
	}
	server.once.Do(func() {
		var assets string
		if assets, server.err = builtPrograms(); server.err != nil {
			return
		}
		server.env = &envtest.Environment{
			BinaryAssetsDirectory: assets,
			CRDDirectoryPaths: []string{ // only what join installs on a member
				filepath.Join("..", "..", "config", "crd", "federation.fairlead.dev_deliveries.yaml"),
				filepath.Join("..", "..", "config", "crd", "federation.fairlead.dev_memberships.yaml"),
			},
			ErrorIfCRDPathMissing: true,
		}
		server.config, server.err = server.env.Start()
	})
	if server.err != nil {
		t.Fatalf("starting an API server: %v", server.err)
	}
	config := rest.CopyConfig(server.config)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	m := &member{t: t, config: config, client: client}
	m.namespace = m.makeNamespace(strings.ToLower("t-" + rand6()))
	if _, err := m.client.Resource(namespacesGVR).Get(t.Context(), v1alpha1.SystemNamespace, metav1.GetOptions{}); err != nil {
		m.makeNamespace(v1alpha1.SystemNamespace)
	}
	t.Cleanup(func() { // so that collectors of later tests do not judge this Delivery
		_ = client.Resource(deliveriesGVR).Namespace(v1alpha1.SystemNamespace).Delete(
			context.Background(), m.deliveryName(), metav1.DeleteOptions{}) // the test may not have created it
	})
	return m
}

// builtPrograms makes a directory with etcd and the API server of the sandbox. The tests run this API server without
// the sandbox's controllers, and make the controllers' writes themselves.
func builtPrograms() (string, error) {
	cache, err := sandbox.CacheDir()
	if err != nil {
		return "", err
	}
	set, err := binaries.Build(context.Background(), cache, []string{binaries.Etcd, binaries.APIServer}, progress.New(os.Stderr))
	if err != nil {
		return "", err
	}
	if server.programs, err = os.MkdirTemp("", "fairlead-collect-"); err != nil { // etcd and the API server may be in two directories
		return "", err
	}
	return server.programs, set.Link(server.programs)
}

func rand6() string { return fmt.Sprintf("%06x", time.Now().UnixNano()&0xffffff) }

func (m *member) makeNamespace(name string) string {
	m.t.Helper()
	ns := object("v1", "Namespace", "", name)
	if _, err := m.client.Resource(namespacesGVR).Create(m.t.Context(), ns, metav1.CreateOptions{}); err != nil {
		m.t.Fatal(err)
	}
	return name
}

// collect runs a Collector until the test ends.
func (m *member) collect(change ...func(*Options)) *Collector {
	m.t.Helper()
	return m.collectAs(func(*Collector) {}, change...)
}

func (m *member) collectAs(tune func(*Collector), change ...func(*Options)) *Collector {
	m.t.Helper()
	o := Options{Config: m.config, Version: "v0.0.0-test", Clock: clock.RealClock{}}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	if err != nil {
		m.t.Fatal(err)
	}
	tune(c)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	m.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			m.t.Errorf("the collector ended with %v", err)
		}
	})
	return c
}

func object(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

func (m *member) configMap(name, color string) *unstructured.Unstructured {
	u := object("v1", "ConfigMap", m.namespace, name)
	u.Object["data"] = map[string]any{"color": color, "size": "1"}
	return u
}

// push pushes an object as the host does: it marks the object, applies it, and returns the inventory entry.
func (m *member) push(gvr schema.GroupVersionResource, obj *unstructured.Unstructured) v1alpha1.InventoryEntry {
	m.t.Helper()
	obj = obj.DeepCopy()
	raw, err := json.Marshal(obj)
	if err != nil {
		m.t.Fatal(err)
	}
	rendering := digest.Of(raw)
	marks.Stamp(obj, marks.Marks{
		UID: m.wrapperUID(), Wrapper: marks.WrapperPath(v1alpha1.KindFederated, m.namespace, "w"),
		Object: marks.ObjectPath(gvr.Resource, gvr.Group, obj.GetNamespace(), obj.GetName()), Rendering: rendering,
	})
	back, err := m.client.Resource(gvr).Namespace(obj.GetNamespace()).Apply(m.t.Context(), obj.GetName(), obj,
		metav1.ApplyOptions{FieldManager: v1alpha1.FieldManager, Force: true})
	if err != nil {
		m.t.Fatal(err)
	}
	return v1alpha1.InventoryEntry{
		Group: gvr.Group, Kind: obj.GetKind(), Resource: gvr.Resource, Name: obj.GetName(), State: v1alpha1.EntryApplied,
		Rendering: rendering, UID: back.GetUID(), Fields: marks.FieldsDigest(back.GetManagedFields()),
	}
}

func (m *member) wrapperUID() types.UID { return types.UID("uid-of-" + m.namespace) }

func (m *member) deliveryName() string {
	return marks.DeliveryName(v1alpha1.KindFederated, m.namespace, "w")
}

// deliver writes the spec of the Delivery, as the host does before and after it applies.
func (m *member) deliver(rendering string, entries ...v1alpha1.InventoryEntry) {
	m.t.Helper()
	d := &v1alpha1.Delivery{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Delivery"},
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.SystemNamespace, Name: m.deliveryName()},
		Spec: v1alpha1.DeliverySpec{
			Wrapper: v1alpha1.WrapperIdentity{
				Kind: v1alpha1.KindFederated, Namespace: m.namespace, Name: "w", UID: m.wrapperUID(), Generation: 1,
			},
			Target:    &v1alpha1.DeliveryTarget{Revision: "fed-w-1", Rendering: rendering},
			Inventory: entries,
		},
	}
	raw, err := runtime.DefaultUnstructuredConverter.ToUnstructured(d)
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.client.Resource(deliveriesGVR).Namespace(v1alpha1.SystemNamespace).Apply(m.t.Context(), d.Name,
		&unstructured.Unstructured{Object: raw}, metav1.ApplyOptions{FieldManager: "host", Force: true}); err != nil {
		m.t.Fatal(err)
	}
}

func (m *member) delivery() *v1alpha1.Delivery {
	m.t.Helper()
	u, err := m.client.Resource(deliveriesGVR).Namespace(v1alpha1.SystemNamespace).Get(m.t.Context(), m.deliveryName(), metav1.GetOptions{})
	if err != nil {
		m.t.Fatal(err)
	}
	d, err := toDelivery(u)
	if err != nil {
		m.t.Fatal(err)
	}
	return d
}

// patch changes an object as another client would.
func (m *member) patch(manager string, gvr schema.GroupVersionResource, name string, patch string, subresource ...string) {
	m.t.Helper()
	if _, err := m.client.Resource(gvr).Namespace(m.namespace).Patch(m.t.Context(), name, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{FieldManager: manager}, subresource...); err != nil {
		m.t.Fatal(err)
	}
}

func (m *member) remove(gvr schema.GroupVersionResource, name string) {
	m.t.Helper()
	if err := m.client.Resource(gvr).Namespace(m.namespace).Delete(m.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		m.t.Fatal(err)
	}
}

// waitFor polls until ok returns "". If that takes too long, the test fails with the last text that ok returned.
func waitFor(t *testing.T, within time.Duration, ok func() string) {
	t.Helper()
	var last string
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, within, true, func(context.Context) (bool, error) {
		last = ok()
		return last == "", nil
	})
	if err != nil {
		t.Fatalf("after %s: %s", within, last)
	}
}

// waitForStatus waits until the status of the Delivery has one line per text, in order.
func (m *member) waitForStatus(within time.Duration, lines ...string) *v1alpha1.Delivery {
	m.t.Helper()
	var d *v1alpha1.Delivery
	waitFor(m.t, within, func() string {
		d = m.delivery()
		var got []string
		for i := range d.Status.Objects {
			got = append(got, lineText(&d.Status.Objects[i]))
		}
		if strings.Join(got, "\n") == strings.Join(lines, "\n") {
			return ""
		}
		return fmt.Sprintf("the status says %q, wanted %q", got, lines)
	})
	return d
}

func lineText(o *v1alpha1.ObjectStatus) string {
	text := fmt.Sprintf("%s %s %s/%s", o.Kind, o.Name, o.Health, o.Reason)
	if d := o.Drift; d != nil {
		text += fmt.Sprintf(" %s by %q %v", d.Kind, d.Manager, d.Fields)
	}
	return text
}

// counter counts requests that are not watches.
type counter struct {
	mu   sync.Mutex
	seen []string
}

func (c *counter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("watch") == "" {
			c.mu.Lock()
			c.seen = append(c.seen, r.Method+" "+r.URL.Path)
			c.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

func (c *counter) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	c.seen = nil
	return seen
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
