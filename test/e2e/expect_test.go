// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/testing/build"
)

// unique adds five random letters to a name, so that no other spec has it, in this run or an earlier one.
func unique(name string) string { return name + "-" + utilrand.String(5) }

// newShop creates a namespace on the host for this spec. After the spec it deletes the namespace of that name on the host and on every
// member.
func newShop(ctx context.Context) string {
	GinkgoHelper()
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: unique("shop")}}
	Expect(fleet.Host.Create(ctx, shop)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		for _, c := range append(fleet.Members(), fleet.Host) {
			namesake := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: shop.Name}}
			Expect(client.IgnoreNotFound(c.Delete(ctx, namesake))).To(Succeed())
		}
	})
	return shop.Name
}

// create creates an object on the cluster, and deletes it after the spec. If the object is a wrapper, the manager then removes its
// objects from the members.
func (c *TestCluster) create(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Expect(c.Create(ctx, obj)).To(Succeed())
	c.deleteAfter(obj)
}

// deleteAfter deletes an object after the spec, and waits until it is gone.
func (c *TestCluster) deleteAfter(obj client.Object) {
	GinkgoHelper()
	DeferCleanup(func(ctx SpecContext) {
		Expect(client.IgnoreNotFound(c.Delete(ctx, obj))).To(Succeed())
		Eventually(ctx, c.lacks(obj)).Should(BeTrue(), "%s %s was deleted, but still exists", obj.GetObjectKind().GroupVersionKind().Kind, obj.GetName())
	})
}

// author creates a wrapper on the host, and deletes it after the spec.
func author[T build.ClientWrapper](ctx context.Context, b *build.Builder[T]) T {
	GinkgoHelper()
	obj := b.Obj()
	fleet.Host.create(ctx, obj)
	return obj
}

// edit changes an object on the host, and repeats the change after a conflict with another writer.
func edit[T client.Object](ctx context.Context, obj T, change func(T)) {
	GinkgoHelper()
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := fleet.Host.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
			return err
		}
		change(obj)
		return fleet.Host.Update(ctx, obj)
	})).To(Succeed())
}

// remove deletes a wrapper and waits until it is gone. The wrapper has then left its members, because its finalizer waits for that.
func remove(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(fleet.Host.Delete(ctx, obj))).To(Succeed())
	Eventually(ctx, fleet.Host.lacks(obj)).Should(BeTrue(), "wrapper %s was deleted, but still exists", obj.GetName())
}

// reread returns a function for Eventually that reads an object from the host again.
func reread[T client.Object](ctx context.Context, obj T) func(Gomega) T {
	return func(g Gomega) T {
		g.Expect(fleet.Host.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		return obj
	}
}

// expectReady waits until a wrapper is Ready at its present generation.
func expectReady(ctx context.Context, wrappers ...build.ClientWrapper) {
	GinkgoHelper()
	for _, w := range wrappers {
		Eventually(ctx, reread(ctx, w)).Should(beReady())
	}
}

func beReady() types.GomegaMatcher {
	return haveCondition(v1alpha1.ConditionReady, metav1.ConditionTrue, "")
}

// haveCondition matches a wrapper or MemberCluster whose condition of this kind has this status and reason, at the present
// generation. The reason "" matches every reason.
func haveCondition(kind string, status metav1.ConditionStatus, reason string) types.GomegaMatcher {
	want := string(status) + " " + reason
	return WithTransform(func(obj client.Object) string {
		c := meta.FindStatusCondition(conditionsOf(obj), kind)
		switch {
		case c == nil:
			return "no condition " + kind
		case c.ObservedGeneration != obj.GetGeneration():
			return fmt.Sprintf("%s %s of generation %d, not %d", c.Status, c.Reason, c.ObservedGeneration, obj.GetGeneration())
		case reason == "":
			return string(c.Status) + " "
		}
		return string(c.Status) + " " + c.Reason
	}, Equal(want))
}

func conditionsOf(obj client.Object) []metav1.Condition {
	switch o := obj.(type) {
	case v1alpha1.Wrapper:
		return o.WrapperStatus().Conditions
	case *v1alpha1.MemberCluster:
		return o.Status.Conditions
	}
	return nil
}

// conditionMessage returns the message of a condition.
func conditionMessage(obj client.Object, kind string) string {
	if c := meta.FindStatusCondition(conditionsOf(obj), kind); c != nil {
		return c.Message
	}
	return ""
}

// haveLine matches a wrapper whose line for the member has this state and reason, and all words in its message. The wrapper's status
// has to be of the present generation.
func haveLine(member string, state v1alpha1.ClusterState, reason string, words ...string) types.GomegaMatcher {
	matchers := []types.GomegaMatcher{HavePrefix("%s %s: ", state, reason)}
	for _, w := range words {
		matchers = append(matchers, ContainSubstring(w))
	}
	return WithTransform(func(w v1alpha1.Wrapper) string {
		if w.WrapperStatus().ObservedGeneration != w.GetGeneration() {
			return "a status of an earlier generation"
		}
		l := lineOf(w, member)
		return fmt.Sprintf("%s %s: %s", l.State, l.Reason, l.Message)
	}, And(matchers...))
}

// lineOf returns the line for the member from the wrapper's status, or an empty line if there is none.
func lineOf(w v1alpha1.Wrapper, member string) v1alpha1.ClusterStatus {
	for _, l := range w.WrapperStatus().Clusters {
		if l.Name == member {
			return l
		}
	}
	return v1alpha1.ClusterStatus{}
}

// fetch reads an object from this cluster. kind is one of shortKinds, a core kind (ConfigMap) or Kind.version.group. fetch returns
// nil if the object does not exist, or its kind is not served.
func (c *TestCluster) fetch(ctx context.Context, kind, namespace, name string) *unstructured.Unstructured {
	GinkgoHelper()
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvkOf(kind))
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return obj
}

// has returns a function for Eventually that reports whether an object exists.
func (c *TestCluster) has(kind, namespace, name string) func(context.Context) bool {
	return func(ctx context.Context) bool { return c.fetch(ctx, kind, namespace, name) != nil }
}

// lacks returns a function for Eventually that reports whether the object is gone.
func (c *TestCluster) lacks(obj client.Object) func(context.Context) bool {
	return func(ctx context.Context) bool {
		found, ok := obj.DeepCopyObject().(client.Object)
		return ok && apierrors.IsNotFound(c.Get(ctx, client.ObjectKeyFromObject(obj), found))
	}
}

// field returns a function for Eventually that returns the field at this path of an object; nil without such an object or
// field.
func (c *TestCluster) field(kind, namespace, name string, path ...string) func(context.Context) any {
	return func(ctx context.Context) any {
		obj := c.fetch(ctx, kind, namespace, name)
		if obj == nil {
			return nil
		}
		value, _, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
		Expect(err).NotTo(HaveOccurred())
		return value
	}
}

// version returns an object's resourceVersion. If a later call returns the same, no client has changed the object in between.
func (c *TestCluster) version(ctx context.Context, kind, namespace, name string) string {
	GinkgoHelper()
	obj := c.fetch(ctx, kind, namespace, name)
	Expect(obj).NotTo(BeNil(), "%s %s/%s is not on %s", kind, namespace, name, c.Name)
	return obj.GetResourceVersion()
}

// delivery returns the wrapper's Delivery on this member, or nil if there is none.
func (c *TestCluster) delivery(ctx context.Context, w v1alpha1.Wrapper) *v1alpha1.Delivery {
	GinkgoHelper()
	d := &v1alpha1.Delivery{}
	name := marks.DeliveryName(w.WrapperKind(), w.GetNamespace(), w.GetName())
	err := c.Get(ctx, client.ObjectKey{Namespace: v1alpha1.SystemNamespace, Name: name}, d)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	Expect(err).NotTo(HaveOccurred())
	return d
}

// shortKinds are the kinds outside the core group that specs name without group and version.
var shortKinds = map[string]schema.GroupVersionKind{
	"Deployment":               {Group: "apps", Version: "v1", Kind: "Deployment"},
	"ControllerRevision":       {Group: "apps", Version: "v1", Kind: "ControllerRevision"},
	"StorageClass":             {Group: "storage.k8s.io", Version: "v1", Kind: "StorageClass"},
	"ClusterRole":              {Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"},
	"CustomResourceDefinition": {Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	"Membership":               {Group: v1alpha1.Group, Version: "v1alpha1", Kind: "Membership"},
	"MemberCluster":            {Group: v1alpha1.Group, Version: "v1alpha1", Kind: "MemberCluster"},
	"Subscription":             {Group: "operators.coreos.com", Version: "v1alpha1", Kind: "Subscription"},
	"OperatorGroup":            {Group: "operators.coreos.com", Version: "v1", Kind: "OperatorGroup"},
}

func gvkOf(kind string) schema.GroupVersionKind {
	if gvk, ok := shortKinds[kind]; ok {
		return gvk
	}
	if parts := strings.SplitN(kind, ".", 3); len(parts) == 3 {
		return schema.GroupVersionKind{Kind: parts[0], Version: parts[1], Group: parts[2]}
	}
	return schema.GroupVersionKind{Version: "v1", Kind: kind}
}

// keyOf returns the key of an object for a client.
func keyOf(obj client.Object) client.ObjectKey { return client.ObjectKeyFromObject(obj) }
