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

	"github.com/fairlead-dev/fairlead/internal/join"
	"github.com/fairlead-dev/fairlead/internal/member"
)

var crds = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// compareEvery is the interval at which the manager compares the API groups in the collector's role with the groups of
// the member's CRDs. It does so even without an event of a CRD: if a CRD is created during a join, the join may
// overwrite the role with an older list of groups.
const compareEvery = 5 * time.Minute

// keepReadable lets the collector's account read the kinds of the member's CRDs, until ctx ends. So the collector can
// observe a new kind as soon as its objects are pushed. keepReadable keeps only the names of CRDs. It compares the role
// with them when a CRD appears, and at the interval every. It reads the role each time, because a join writes the role
// too.
func keepReadable(ctx context.Context, conn *member.Conn, every time.Duration) error {
	client, err := metadata.NewForConfigAndClient(metadata.ConfigFor(conn.GetConfig()), conn.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("making the client for CRDs: %w", err)
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[struct{}](time.Second, time.Minute))
	defer queue.ShutDown()
	defer context.AfterFunc(ctx, queue.ShutDown)()
	names := metadatainformer.NewFilteredMetadataInformer(client, crds, metav1.NamespaceAll, every, cache.Indexers{}, nil).Informer()
	if err := names.SetTransform(onlyName); err != nil {
		return fmt.Errorf("watching CRDs: %w", err)
	}
	if _, err := names.AddEventHandler(enqueueOnCRD(queue)); err != nil {
		return fmt.Errorf("watching CRDs: %w", err)
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
		if err := join.LetCollectorRead(ctx, api, groupsOf(names.GetStore().ListKeys())...); err != nil && ctx.Err() == nil {
			log.FromContext(ctx).Info("the collector may not read all groups yet, trying again", "error", err.Error())
			queue.AddRateLimited(turn)
		} else {
			queue.Forget(turn)
		}
		queue.Done(turn)
	}
}

// enqueueOnCRD enqueues a comparison when a CRD appears. It also does so at each resync of the informer, which keeps
// the interval. Other changes of a CRD do not change its API group.
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

// groupsOf returns the API groups of CRDs. The API server ensures that their names are PLURAL.GROUP.
func groupsOf(crds []string) []string {
	groups := make([]string, 0, len(crds))
	for _, crd := range crds {
		_, group, _ := strings.Cut(crd, ".")
		groups = append(groups, group)
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// onlyName drops everything but the name and the resourceVersion of an object, because a member may have thousands of
// CRDs.
func onlyName(obj any) (any, error) {
	if o, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return &metav1.PartialObjectMetadata{TypeMeta: o.TypeMeta,
			ObjectMeta: metav1.ObjectMeta{Name: o.Name, ResourceVersion: o.ResourceVersion}}, nil
	}
	return obj, nil
}
