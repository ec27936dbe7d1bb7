// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/collect/boundedwatch"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
)

var deliveriesGVR = v1alpha1.GroupVersion.WithResource("deliveries")

// deliveries watches the Deliveries of the member and keeps the index current.
type deliveries struct {
	client *memberclient.Client
	clock  clock.PassiveClock
	looks  *lookQueue
	served *servedKinds
	// watchesChanged signals that Deliveries may need other watches now.
	watchesChanged chan struct{}
	// readmitted signals that the member answers again after a refusal or an outage.
	readmitted chan struct{}
}

// watch returns the watch of the Deliveries. Unlike other watches it keeps whole objects.
func (d *deliveries) watch() *boundedwatch.Watch {
	lost := false
	return &boundedwatch.Watch{
		Name:      "deliveries",
		Essential: true,
		Open: func(context.Context) (cache.ListerWatcher, runtime.Object, error) {
			return d.client.ObjectSource(deliveriesGVR, v1alpha1.SystemNamespace), &v1alpha1.Delivery{}, nil
		},
		Trim: func(obj any) (any, error) {
			if u, ok := obj.(*unstructured.Unstructured); ok {
				return toDelivery(u)
			}
			return obj, nil
		},
		Put:  func(obj any) { d.learn(obj.(*v1alpha1.Delivery)) },
		Drop: func(obj any) { d.forget(obj.(metav1.Object).GetName()) },
		Lost: func(error) { lost = true },
		Replace: func(objs []any, _ string) {
			if lost {
				// The member answers again, or was joined again. So the other watches that failed now try again at once.
				lost = false
				boundedwatch.Signal(d.readmitted)
			}
			listed := make(map[string]struct{}, len(objs))
			for _, obj := range objs {
				delivery := obj.(*v1alpha1.Delivery)
				listed[delivery.Name] = struct{}{}
				d.learn(delivery)
			}
			for _, name := range d.looks.index.Names() {
				if _, ok := listed[name]; !ok {
					d.forget(name)
				}
			}
		},
	}
}

func toDelivery(u *unstructured.Unstructured) (*v1alpha1.Delivery, error) {
	d := &v1alpha1.Delivery{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, d); err != nil {
		return nil, fmt.Errorf("reading Delivery %s: %w", u.GetName(), err)
	}
	d.ManagedFields = nil
	return d, nil
}

// learn stores a Delivery that a watch or a request has returned, and queues it.
func (d *deliveries) learn(seen *v1alpha1.Delivery) {
	taken, respecified := d.looks.index.Learn(seen, d.clock.Now())
	if !taken {
		return
	}
	d.looks.Add(seen.Name)
	if !respecified {
		return
	}
	d.served.await(seen)
	boundedwatch.Signal(d.watchesChanged)
}

func (d *deliveries) forget(name string) {
	d.looks.index.Forget(name)
	boundedwatch.Signal(d.watchesChanged)
}
