// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// Options are the settings of a process of the operator.
type Options struct {
	REST      *rest.Config // the operator's own credentials
	Namespace string       // the namespace whose Greetings the operator serves; "" means all namespaces
	Version   string       // one of Versions
}

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// operator reconciles Greetings as one release does.
type operator struct {
	release   release
	client    dynamic.Interface
	greetings cache.SharedIndexInformer
	written   cache.SharedIndexInformer // the metadata of the operator's own ConfigMaps, so that it restores one that a user has changed or deleted
	queue     workqueue.TypedRateLimitingInterface[cache.ObjectName]
}

// Run reconciles Greetings until ctx ends. It returns an error only if it cannot start. An error about one Greeting goes into the status of that Greeting,
// and Run tries again.
func Run(ctx context.Context, o Options) error {
	op, err := newOperator(o)
	if err != nil {
		return fmt.Errorf("starting %s %s: %w", Name, o.Version, err)
	}
	defer op.queue.ShutDown()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	for _, informer := range []cache.SharedIndexInformer{op.greetings, op.written} {
		go informer.RunWithContext(ctx)
	}
	if !cache.WaitForCacheSync(ctx.Done(), op.greetings.HasSynced, op.written.HasSynced) {
		return nil // ctx has ended during the start
	}
	log.FromContext(ctx).Info("Serving greetings", "version", o.Version, "namespace", o.Namespace)

	context.AfterFunc(ctx, op.queue.ShutDown)
	for op.next(ctx) {
	}
	return nil
}

func newOperator(o Options) (*operator, error) {
	r, err := releaseOf(o.Version)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(o.REST)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	meta, err := metadata.NewForConfig(o.REST)
	if err != nil {
		return nil, fmt.Errorf("making a metadata client: %w", err)
	}
	op := &operator{
		release: r, client: client,
		greetings: dynamicinformer.NewFilteredDynamicInformer(client, Resource(), o.Namespace, 0, cache.Indexers{}, nil).Informer(),
		written: metadatainformer.NewFilteredMetadataInformer(meta, configMaps, o.Namespace, 0, cache.Indexers{},
			func(lo *metav1.ListOptions) { lo.LabelSelector = greetingLabel }).Informer(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](200*time.Millisecond, time.Minute)),
	}
	if _, err := op.greetings.AddEventHandler(onAnyChange(func(obj metav1.Object) {
		op.queue.Add(cache.MetaObjectToName(obj))
	})); err != nil {
		return nil, fmt.Errorf("watching greetings: %w", err)
	}
	if _, err := op.written.AddEventHandler(onAnyChange(func(obj metav1.Object) {
		if owner := metav1.GetControllerOf(obj); owner != nil && owner.Kind == Kind && owner.APIVersion == GroupVersion.String() {
			op.queue.Add(cache.NewObjectName(obj.GetNamespace(), owner.Name))
		}
	})); err != nil {
		return nil, fmt.Errorf("watching configmaps: %w", err)
	}
	return op, nil
}

// next takes one Greeting from the queue and reconciles it. It returns false when the queue is shut down.
func (op *operator) next(ctx context.Context) bool {
	key, shut := op.queue.Get()
	if shut {
		return false
	}
	defer op.queue.Done(key)
	if err := op.reconcile(ctx, key); err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Error(err, "Greeting not served, trying again", "greeting", key.String())
		op.queue.AddRateLimited(key)
		return true
	}
	op.queue.Forget(key)
	return true
}

// reconcile writes the ConfigMap of a Greeting, and then the result into the Greeting's status.
func (op *operator) reconcile(ctx context.Context, key cache.ObjectName) error {
	obj, there, err := op.greetings.GetStore().GetByKey(key.String())
	if err != nil || !there {
		return err
	}
	var g Greeting
	if err := fromUnstructured(obj.(*unstructured.Unstructured), &g); err != nil {
		return fmt.Errorf("reading Greeting %s: %w", key, err)
	}
	if g.DeletionTimestamp != nil {
		return nil
	}

	done, failure := op.write(ctx, &g)
	options := metav1.ApplyOptions{FieldManager: Name, Force: true}
	_, err = op.client.Resource(Resource()).Namespace(g.Namespace).ApplyStatus(ctx, g.Name, status(&g, done, metav1.Now()), options)
	switch {
	case failure != nil:
		return failure
	case apierrors.IsNotFound(err):
		return nil // a user has deleted the Greeting
	case err != nil:
		return fmt.Errorf("writing status of Greeting %s: %w", key, err)
	}
	if ready(&g) != done.reason || g.Status.ObservedGeneration != g.Generation {
		log.FromContext(ctx).Info("Greeting served", "greeting", key.String(), "reason", done.reason, "message", done.message)
	}
	if done.reason == ReasonNameTaken {
		op.queue.AddAfter(key, time.Minute) // the other owner's ConfigMap does not have greetingLabel, so no event reports its deletion
	}
	return nil
}

// write applies the ConfigMap of a Greeting, unless a ConfigMap of this name belongs to another owner.
func (op *operator) write(ctx context.Context, g *Greeting) (writeResult, error) {
	want := op.release.configMap(g)
	client := op.client.Resource(configMaps).Namespace(g.Namespace)
	there, err := client.Get(ctx, want.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		err = fmt.Errorf("reading ConfigMap %s/%s: %w", g.Namespace, want.GetName(), err)
		return writeRefused(err), err
	case !metav1.IsControlledBy(there, g):
		return nameTaken(g), nil
	}
	if _, err := client.Apply(ctx, want.GetName(), want, metav1.ApplyOptions{FieldManager: Name, Force: true}); err != nil {
		err = fmt.Errorf("applying ConfigMap %s/%s: %w", g.Namespace, want.GetName(), err)
		return writeRefused(err), err
	}
	return written(g), nil
}

// ready returns the reason in a Greeting's condition Ready, or "".
func ready(g *Greeting) string {
	for _, c := range g.Status.Conditions {
		if c.Type == "Ready" {
			return c.Reason
		}
	}
	return ""
}

// onAnyChange returns a handler that calls f with every object that is added, changed or deleted.
func onAnyChange(f func(metav1.Object)) cache.ResourceEventHandler {
	see := func(obj any) {
		if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
			obj = gone.Obj
		}
		if o, ok := obj.(metav1.Object); ok {
			f(o)
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, now any) { see(now) }, DeleteFunc: see}
}
