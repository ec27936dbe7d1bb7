// SPDX-License-Identifier: Apache-2.0

package memberreport

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// run starts a manager that has a cache, and no loop but this one.
func (s *site) run() {
	s.Helper()
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: member.Scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Cache: cache.Options{DefaultTransform: cache.TransformStripManagedFields()}})
	if err != nil {
		s.Fatal(err)
	}
	s.store = deliveries.NewStore(clock.RealClock{})
	clear(s.indexes)
	s.loop = New(mgr, s.store, clock.RealClock{}, 0)
	if err := s.loop.SetupWithManager(mgr); err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(s.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			s.Errorf("the manager ended with: %v", err)
		}
	})
}

func (s *site) eventually(what string, is func() bool) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.Context(), 50*time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		s.Fatalf("not after 30 s: %s", what)
	}
}

// decide stores the placement of a wrapper on east.
func (s *site) decide(w v1alpha1.Wrapper) {
	s.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"placement":{"observedGeneration":1,"clusters":["east"]}}}`))
	if err := s.Status().Patch(s.Context(), w.(client.Object), patch); err != nil { //nolint:forcetypeassert // both wrappers are client.Objects
		s.Fatal(err)
	}
}

func TestTheLoopInAManager(t *testing.T) {
	s := newSite(t)
	system := &corev1.Namespace{}
	system.Name = v1alpha1.SystemNamespace
	if err := s.Create(t.Context(), system); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	whole := &v1alpha1.ClusterFederated{}
	whole.Name = "classes"
	whole.Spec.Objects = []runtime.RawExtension{{Raw: []byte(`{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{"name":"a"},"provisioner":"p"}`)}}
	whole.Spec.Placement.Clusters = &v1alpha1.ClusterSelection{Names: []string{"east"}}
	if err := s.Create(t.Context(), whole); err != nil {
		t.Fatal(err)
	}
	s.decide(s.wrapper)
	s.decide(whole)
	s.run()

	ofWhole := s.ill("it fails", "log")
	ofWhole.Spec.Wrapper = v1alpha1.Identity(whole)
	ofWhole.Name = deliveries.KeyOf(ofWhole.Spec.Wrapper).Delivery()
	s.connect("east").Replace(s.ill("it crashes", "log"), ofWhole) // the manager may not have its wrappers yet
	isThere := func(namespace string) bool {
		list := &v1alpha1.MemberReportList{}
		return s.List(t.Context(), list, client.InNamespace(namespace)) == nil && len(list.Items) == 1 && list.Items[0].Status.ClusterCount == 1
	}
	s.eventually("the Federated has a report", func() bool { return isThere(s.wrapper.Namespace) })
	s.eventually("the ClusterFederated has a report in fairlead-system", func() bool { return isThere(v1alpha1.SystemNamespace) })

	was := s.reports()[0]
	if err := s.Delete(t.Context(), &was); err != nil {
		t.Fatal(err)
	}
	s.eventually("the report that a person deleted is back", func() bool { return isThere(s.wrapper.Namespace) && s.reports()[0].UID != was.UID })

	s.connect("east").Replace(s.ill("", ""))
	s.eventually("no report is left", func() bool {
		return len(s.reports()) == 0 && !isThere(v1alpha1.SystemNamespace)
	})
}
