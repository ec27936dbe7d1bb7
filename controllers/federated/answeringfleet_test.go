// SPDX-License-Identifier: Apache-2.0

package federated

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push"
)

// answeringFleet is a fleet whose members answer probes, and record at once what the manager desires for them. No queue pushes to
// them. So after each reconcile the manager is started again, and reads the Deliveries.
type answeringFleet struct {
	*testing.T
	*Reconciler
	host    client.Client
	indexes map[string]*deliveries.Index
}

// unaware starts nothing for a member.
type unaware struct{}

func (unaware) Engage(context.Context, multicluster.ClusterName, cluster.Cluster) error { return nil }

// connect connects these members to the fleet of r.
func connect(t *testing.T, r *Reconciler, host client.Client, names ...string) *answeringFleet {
	t.Helper()
	f := &answeringFleet{T: t, Reconciler: r, host: host, indexes: make(map[string]*deliveries.Index)}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.fleet.Start(ctx, unaware{}) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	for _, name := range names {
		server := httptest.NewTLSServer(answers(name))
		t.Cleanup(server.Close)
		err := r.fleet.Connect(ctx, name, &rest.Config{Host: server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{
			CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}}, "")
		if err != nil {
			t.Fatal(err)
		}
		f.indexes[name] = r.deliveries.Open(r.fleet.Conn(name), nil)
		f.indexes[name].Replace()
		err = wait.PollUntilContextTimeout(ctx, time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
			probe, _ := r.fleet.LastProbe(name)
			return probe.Usable(), nil
		})
		if err != nil {
			probe, _ := r.fleet.LastProbe(name)
			t.Fatalf("%v: %+v", err, probe)
		}
	}
	return f
}

// answers returns the API server of a member, as far as a probe reads it.
func answers(name string) http.Handler {
	objects := map[string]any{
		"/apis/" + v1alpha1.Group + "/v1alpha1/memberships/" + v1alpha1.MembershipName: &v1alpha1.Membership{
			TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Membership"}, Spec: v1alpha1.MembershipSpec{ClusterName: name}},
		"/api/v1/namespaces/kube-system": &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: "k"}},
		"/version": &version.Info{GitVersion: "v1.36.3"},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		obj, known := objects[req.URL.Path]
		if !known {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(obj) // if it cannot be sent, the probe fails
	})
}

// reconciled reconciles the wrapper, lets the members record what the manager desires for them, and starts the manager again. It returns
// the wrapper, and the digests of the renderings that the manager desires.
func (f *answeringFleet) reconciled() (w *v1alpha1.Federated, digests map[string]string) {
	f.Helper()
	if _, err := f.Reconcile(f.Context(), ctrl.Request{NamespacedName: web.NamespacedName}); err != nil {
		f.Fatal(err)
	}
	w = &v1alpha1.Federated{}
	if err := f.host.Get(f.Context(), web.NamespacedName, w); err != nil {
		f.Fatal(err)
	}
	digests = make(map[string]string)
	for name, index := range f.indexes {
		desired := f.pusher.DesiredState(web, name)
		if desired == nil {
			continue
		}
		digests[name] = desired.Digest()
		d := &v1alpha1.Delivery{Spec: v1alpha1.DeliverySpec{Wrapper: desired.Wrapper, Target: &v1alpha1.DeliveryTarget{Revision: desired.Revision, Rendering: desired.Digest()}}}
		d.Name, d.UID = web.Delivery(), "d"
		index.Put(d)
	}
	f.pusher = push.New(f.fleet, f.deliveries, clocktesting.NewFakeClock(now), push.Host{}, func(push.Key) {})
	f.writes, f.renderers = writeCache{}, renderers{}
	return w, digests
}

// relabel sets a label of a member.
func (f *answeringFleet) relabel(name, key, value string) {
	f.Helper()
	mc := &v1alpha1.MemberCluster{}
	if err := f.host.Get(f.Context(), client.ObjectKey{Name: name}, mc); err != nil {
		f.Fatal(err)
	}
	mc.Labels = map[string]string{key: value}
	if err := f.host.Update(f.Context(), mc); err != nil {
		f.Fatal(err)
	}
}

// edit changes the spec of the wrapper on the host.
func edit(t *testing.T, host client.Client, change func(w *v1alpha1.Federated)) {
	t.Helper()
	w := &v1alpha1.Federated{}
	if err := host.Get(t.Context(), web.NamespacedName, w); err != nil {
		t.Fatal(err)
	}
	change(w)
	w.Generation++
	if err := host.Update(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}
