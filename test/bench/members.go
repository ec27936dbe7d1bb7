// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

const (
	// fewer is the number of wrappers in each of W7's deliveries.
	fewer = 300
	// furtherMembers is how many members W7 adds between its two deliveries.
	furtherMembers = 3
)

// addMembers runs the work W7. It delivers wrappers to three members, and then as many wrappers to six, each time with a new manager. More has
// what each of the three added members costs. All other figures are those of the second delivery.
func addMembers(ctx context.Context, b *bed) (*reading, error) {
	first, err := b.deliverFreshly(ctx, "few")
	if err != nil {
		return nil, err
	}
	if err := b.up(ctx, firstMembers+furtherMembers); err != nil {
		return nil, err
	}
	second, err := b.deliverFreshly(ctx, "more")
	if err != nil {
		return nil, err
	}
	second.More = map[string]float64{
		"cpuSecondsPerMember": round((second.HostCPUSeconds - first.HostCPUSeconds) / furtherMembers),
		"rssBytesPerMember":   (float64(second.RSSPeakBytes) - float64(first.RSSPeakBytes)) / furtherMembers,
	}
	return second, nil
}

// deliverFreshly deletes all wrappers, starts a new manager, delivers, and deletes what it delivered. It returns the cost of the delivery.
func (b *bed) deliverFreshly(ctx context.Context, prefix string) (*reading, error) {
	if err := b.clear(ctx, b.delivered); err != nil {
		return nil, err
	}
	b.delivered = nil
	if err := b.makeNamespaces(ctx, prefix); err != nil {
		return nil, err
	}
	if err := b.restartManager(ctx); err != nil {
		return nil, err
	}
	if err := b.membersReady(ctx); err != nil {
		return nil, err
	}
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	r, all, err := b.deliver(ctx, prefix, fewer)
	if err != nil {
		return nil, err
	}
	return r, b.clear(ctx, all)
}

func (b *bed) membersReady(ctx context.Context) error {
	return b.until(ctx, patience, func(ctx context.Context) (string, error) {
		list := &v1alpha1.MemberClusterList{}
		if err := b.host.List(ctx, list); err != nil {
			return "", err
		}
		for i := range list.Items {
			if !meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, v1alpha1.ConditionReady) {
				return list.Items[i].Name + " is not ready", nil
			}
		}
		return "", nil
	})
}

// clear deletes wrappers and waits until they are gone from the host and their objects from every member.
func (b *bed) clear(ctx context.Context, all []client.Object) error {
	err := each(ctx, all, func(ctx context.Context, w client.Object) error {
		return client.IgnoreNotFound(b.host.Delete(ctx, w))
	})
	if err != nil {
		return err
	}
	return b.until(ctx, patience, func(ctx context.Context) (string, error) {
		list := &v1alpha1.FederatedList{}
		if err := b.host.List(ctx, list); err != nil {
			return "", err
		}
		left := 0
		for i := range list.Items {
			if list.Items[i].DeletionTimestamp != nil {
				left++
			}
		}
		if left > 0 {
			return fmt.Sprintf("%d wrappers are still being removed", left), nil
		}
		return "", nil
	})
}
