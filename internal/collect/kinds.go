// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// kindState says what is known of the objects of one kind.
type kindState int

const (
	// kindUnread: nothing was listed yet, so that nothing can be said.
	kindUnread kindState = iota
	// kindListed: the ledger is what the member holds.
	kindListed
	// kindForbidden: the collector's role does not let it look.
	kindForbidden
	// kindUnserved: the member does not serve it any more, so that none of its objects is there.
	kindUnserved
)

// kind is one watched resource. It is guarded by the Collector's lock.
type kind struct {
	gr     schema.GroupResource
	gvr    schema.GroupVersionResource // empty until it was resolved
	state  kindState
	ledger ledger
	// doubted: the mapper named a version that is not served; the member itself is asked from then on.
	doubted bool
	kick    chan struct{}
}

func newKind(gr schema.GroupResource) *kind {
	return &kind{gr: gr, ledger: newLedger(), kick: make(chan struct{}, 1)}
}

// kindFeed watches the objects of one kind that carry Fairlead's label, wherever they are.
func (c *Collector) kindFeed(k *kind) *feed {
	return &feed{
		name:    "objects/" + k.gr.String(),
		kick:    k.kick,
		awaited: true,
		open: func(ctx context.Context) (cache.ListerWatcher, runtime.Object, error) {
			c.mu.Lock()
			doubted := k.doubted
			c.mu.Unlock()
			gvr, err := c.versionOf(ctx, k.gr, !doubted)
			if err != nil {
				return nil, nil, err
			}
			c.mu.Lock()
			k.gvr = gvr
			c.mu.Unlock()
			return c.clients.metadataSource(gvr, v1alpha1.LabelUID), &arrival{}, nil
		},
		trim: trimTo(k.gr),
		put: func(obj any) {
			a := obj.(*arrival)
			c.mu.Lock()
			defer c.mu.Unlock()
			if k.ledger.enter(a.key(), a.record) {
				c.wakeObject(k.gr, a.key())
			}
		},
		drop: func(obj any) {
			a := obj.(*arrival)
			c.mu.Lock()
			defer c.mu.Unlock()
			if k.ledger.strike(a.key(), a.ResourceVersion) {
				c.wakeObject(k.gr, a.key())
			}
		},
		all: func(objs []any, resourceVersion string) {
			list := make(map[types.NamespacedName]record, len(objs))
			for _, obj := range objs {
				a := obj.(*arrival)
				list[a.key()] = a.record
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			k.ledger.replace(list, resourceVersion)
			k.state = kindListed
			c.wakeUsers(k.gr)
		},
		lost: func(err error) { c.loseKind(k, err) },
	}
}

// loseKind notes why a kind cannot be listed. An outage changes nothing: what was known stays known.
func (c *Collector) loseKind(k *kind, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case apierrors.IsForbidden(err):
		if k.state == kindForbidden {
			return
		}
		k.state = kindForbidden
	case isNotServed(err):
		if !k.doubted {
			// It may be served in another version than the one that was remembered.
			k.doubted = true
			wake(k.kick)
			return
		}
		k.state, k.gvr, k.ledger = kindUnserved, schema.GroupVersionResource{}, newLedger()
		wake(c.feedsChanged)
	default:
		return
	}
	c.wakeUsers(k.gr)
}

// wakeObject has the Deliveries that list an object looked at. The lock is held.
func (c *Collector) wakeObject(gr schema.GroupResource, key types.NamespacedName) {
	for name := range c.book.listed[objectRef{GroupResource: gr, namespace: key.Namespace, name: key.Name}] {
		c.deliveries.Add(name)
	}
}

// wakeUsers has the Deliveries that list objects of a kind looked at. The lock is held.
func (c *Collector) wakeUsers(gr schema.GroupResource) {
	for name := range c.book.users[gr] {
		c.deliveries.Add(name)
	}
}
