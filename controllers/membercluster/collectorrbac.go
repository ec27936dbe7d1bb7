// SPDX-License-Identifier: Apache-2.0

package membercluster

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/internal/join/memberinstall"
	"github.com/fairlead-dev/fairlead/internal/member"
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// compareEvery is the interval at which the manager compares the API groups in the collector's role with the groups of
// the member's CRDs. It compares even if no CRD appears: a join writes the role too, and a CRD that was created during
// the join may be missing in that role.
const compareEvery = 5 * time.Minute

// keepReadable makes the collector's role allow reads of all kinds of the member's CRDs, until ctx ends. So the
// collector can observe a new kind as soon as the manager pushes its objects. keepReadable compares the role with the
// CRDs when a CRD appears, and also regularly: the parameter `every` is the interval. For each comparison it reads the role
// again, because a join writes the role too. It has only the names of the CRDs in memory.
func keepReadable(ctx context.Context, conn *member.Conn, every time.Duration) error {
	client, err := metadata.NewForConfigAndClient(metadata.ConfigFor(conn.GetConfig()), conn.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("making the client for the member's CRDs: %w", err)
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[struct{}](time.Second, time.Minute))
	defer queue.ShutDown()
	defer context.AfterFunc(ctx, queue.ShutDown)()
	names := metadatainformer.NewFilteredMetadataInformer(client, crds, metav1.NamespaceAll, every, cache.Indexers{}, nil).Informer()
	if err := names.SetTransform(onlyName); err != nil {
		return fmt.Errorf("setting up the watch of the member's CRDs: %w", err)
	}
	if _, err := names.AddEventHandler(enqueueOnCRD(queue)); err != nil {
		return fmt.Errorf("setting up the watch of the member's CRDs: %w", err)
	}
	var watching sync.WaitGroup
	defer watching.Wait()
	watching.Go(func() { names.RunWithContext(ctx) })
	if !cache.WaitForCacheSync(ctx.Done(), names.HasSynced) {
		return nil
	}
	for api := conn.GetClient(); ; {
		turn, shut := queue.Get()
		if shut {
			return nil
		}
		if err := memberinstall.LetCollectorRead(ctx, api, groupsOf(names.GetStore().ListKeys())...); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Info("could not extend the collector's role on the member to all API groups; the manager tries again", "error", err.Error())
			queue.AddRateLimited(turn)
		} else {
			queue.Forget(turn)
		}
		queue.Done(turn)
	}
}

// enqueueOnCRD returns a handler that enqueues a comparison when a CRD appears, and at each resync of the informer. It
// ignores changes of a CRD, because the API group of a CRD never changes.
func enqueueOnCRD(queue workqueue.TypedInterface[struct{}]) cache.ResourceEventHandler {
	turn := func(any) { queue.Add(struct{}{}) }
	return cache.ResourceEventHandlerFuncs{AddFunc: turn, UpdateFunc: func(old, now any) {
		was, isSeen := old.(*metav1.PartialObjectMetadata)
		is, isOne := now.(*metav1.PartialObjectMetadata)
		if isSeen && isOne && was.ResourceVersion == is.ResourceVersion {
			turn(now)
		}
	}}
}

// groupsOf returns the API groups of CRDs with the given names. The API server ensures that the name of a CRD is
// PLURAL.GROUP.
func groupsOf(crds []string) []string {
	groups := make([]string, 0, len(crds))
	for _, crd := range crds {
		_, group, _ := strings.Cut(crd, ".")
		groups = append(groups, group)
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// onlyName drops all fields of an object but its name and resourceVersion, because the manager keeps the objects in
// memory, and a member may have thousands of CRDs.
func onlyName(obj any) (any, error) {
	if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return &metav1.PartialObjectMetadata{TypeMeta: o.TypeMeta,
			ObjectMeta: metav1.ObjectMeta{Name: o.Name, ResourceVersion: o.ResourceVersion}}, nil
	}
	return obj, nil
}
