// SPDX-License-Identifier: Apache-2.0

package demooperator

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// WatchOptions name the member that Watch watches, and have the functions by which Watch starts and stops processes.
type WatchOptions struct {
	REST *rest.Config // the member's client configuration; it needs the rights to read Deployments and to request tokens
	Dir  string       // the folder for the instances' kubeconfigs; Watch creates it

	// Start starts the operator's process for an instance, and returns when the process has started. If the process runs already,
	// Start does nothing. Start first ends the process of an earlier instance of the same Deployment, so that two releases never
	// write at the same time. If a process ends without a call of Stop, the implementation of Start has to start it again.
	Start func(ctx context.Context, i Instance) error
	// Stop ends the process for a Deployment and waits for its end. Without such a process it returns nil.
	Stop func(ctx context.Context, deployment cache.ObjectName) error
	// Running returns the Deployments that have a process when Watch begins. An earlier Watch may have left processes running.
	Running func(ctx context.Context) ([]cache.ObjectName, error)
}

// watcher starts and stops processes until they fit the Deployments.
type watcher struct {
	WatchOptions
	credentials credentials
	deployments cache.SharedIndexInformer
	queue       workqueue.TypedRateLimitingInterface[cache.ObjectName]
	running     map[cache.ObjectName]Instance  // for a process of an earlier Watch, only Namespace and Deployment are set
	refreshed   map[cache.ObjectName]time.Time // the time of the process's last token
}

// Watch keeps one process running for each rolled-out Deployment of the operator on a member, until ctx ends. It goes on after outages of
// the member. It calls Start and Stop from one goroutine. If one of them returns an error, Watch calls it again later. Watch itself
// returns an error only if it cannot start. The processes go on when Watch ends, and the next Watch takes them over. So it does no harm
// to kill the program that calls Watch.
func Watch(ctx context.Context, o WatchOptions) error {
	client, err := kubernetes.NewForConfig(o.REST)
	if err != nil {
		return fmt.Errorf("watching the Deployments of %s: making a client: %w", Name, err)
	}
	if err := watch(ctx, client, o); err != nil {
		return fmt.Errorf("watching the Deployments of %s: %w", Name, err)
	}
	return nil
}

func watch(ctx context.Context, client kubernetes.Interface, o WatchOptions) error {
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(lo *metav1.ListOptions) {
		lo.LabelSelector = DeploymentLabel + "=" + Name
	}))
	w := &watcher{
		WatchOptions: o,
		credentials:  credentials{rest: o.REST, client: client, dir: o.Dir},
		deployments:  factory.Apps().V1().Deployments().Informer(),
		queue: workqueue.NewTypedRateLimitingQueue(
			workqueue.NewTypedItemExponentialFailureRateLimiter[cache.ObjectName](200*time.Millisecond, 30*time.Second)),
		running:   map[cache.ObjectName]Instance{},
		refreshed: map[cache.ObjectName]time.Time{},
	}
	defer w.queue.ShutDown()
	if _, err := w.deployments.AddEventHandler(onAnyChange(func(obj metav1.Object) {
		w.queue.Add(cache.MetaObjectToName(obj))
	})); err != nil {
		return fmt.Errorf("watching Deployments: %w", err)
	}
	go w.deployments.RunWithContext(ctx)
	before, err := o.Running(ctx)
	if err != nil {
		return fmt.Errorf("listing the processes that run already: %w", err)
	}
	if !cache.WaitForCacheSync(ctx.Done(), w.deployments.HasSynced) {
		return nil // ctx has ended during the start
	}
	for _, key := range before {
		w.running[key] = Instance{Namespace: key.Namespace, Deployment: key.Name}
		w.queue.Add(key) // check it: the Deployment may have been deleted while no Watch ran
	}
	context.AfterFunc(ctx, w.queue.ShutDown)
	for w.next(ctx) {
	}
	return nil
}

// next takes one Deployment from the queue and settles it. It returns false when the queue is shut down, or ctx has ended.
func (w *watcher) next(ctx context.Context) bool {
	key, shut := w.queue.Get()
	if shut || ctx.Err() != nil {
		return false
	}
	defer w.queue.Done(key)
	if err := w.settle(ctx, key); err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Error(err, "The operator does not match its Deployment yet; trying again", "deployment", key.String())
		w.queue.AddRateLimited(key)
		return true
	}
	w.queue.Forget(key)
	return true
}

// settle starts or stops the process of a Deployment, as the function judge decides.
func (w *watcher) settle(ctx context.Context, key cache.ObjectName) error {
	obj, there, err := w.deployments.GetStore().GetByKey(key.String())
	if err != nil {
		return err
	}
	if !there {
		return w.end(ctx, key)
	}
	asked, wanted, err := judge(obj.(*appsv1.Deployment))
	switch {
	case err != nil:
		return errors.Join(err, w.end(ctx, key))
	case asked == end:
		return w.end(ctx, key)
	case asked == keep:
		return w.refresh(ctx, key)
	}
	wanted.Kubeconfig = w.credentials.kubeconfig(wanted)
	if w.running[key] == wanted {
		return w.refresh(ctx, key)
	}
	return w.begin(ctx, key, wanted)
}

// begin writes credentials for an instance, and starts its process.
func (w *watcher) begin(ctx context.Context, key cache.ObjectName, i Instance) error {
	if err := w.credentials.write(ctx, i); err != nil {
		return err
	}
	if err := w.Start(ctx, i); err != nil {
		return fmt.Errorf("starting %s %s for Deployment %s: %w", Name, i.Version, key, err)
	}
	w.running[key], w.refreshed[key] = i, time.Now()
	w.queue.AddAfter(key, tokenRefresh)
	log.FromContext(ctx).Info("Operator started", "deployment", key.String(), "version", i.Version, "serviceAccount", i.ServiceAccount)
	return nil
}

// end stops the process of a Deployment, if there is one, and removes its credentials.
func (w *watcher) end(ctx context.Context, key cache.ObjectName) error {
	i, runs := w.running[key]
	if !runs {
		return nil
	}
	if err := w.Stop(ctx, key); err != nil {
		return fmt.Errorf("stopping %s of Deployment %s: %w", Name, key, err)
	}
	delete(w.running, key)
	delete(w.refreshed, key)
	log.FromContext(ctx).Info("Operator stopped", "deployment", key.String(), "version", i.Version)
	return w.credentials.remove(i)
}

// refresh replaces the token of a Deployment's process if it is older than tokenRefresh.
func (w *watcher) refresh(ctx context.Context, key cache.ObjectName) error {
	i, runs := w.running[key]
	if !runs || i.ServiceAccount == "" { // a process of an earlier Watch: settle fills in its Instance when the rollout is complete
		return nil
	}
	if due := tokenRefresh - time.Since(w.refreshed[key]); due > 0 {
		w.queue.AddAfter(key, due) // the queue keeps only the earliest of several times for a key
		return nil
	}
	if err := w.credentials.refresh(ctx, i); err != nil {
		return err
	}
	w.refreshed[key] = time.Now()
	w.queue.AddAfter(key, tokenRefresh)
	return nil
}
