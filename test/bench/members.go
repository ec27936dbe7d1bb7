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

// addMembers runs the work W7. It delivers wrappers to three members, and then as many wrappers to six, each time with a new manager.
// The field More of the reading has the cost of one added member. All other figures are those of the second delivery.
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
	if err := remove(ctx, b.host, b.delivered); err != nil {
		return nil, err
	}
	if err := b.until(ctx, patience, allRemoved(b.host)); err != nil {
		return nil, err
	}
	b.delivered = nil
	if err := b.makeNamespaces(ctx, prefix); err != nil {
		return nil, err
	}
	if err := b.restartManager(ctx); err != nil {
		return nil, err
	}
	if err := b.until(ctx, patience, membersReady(b.host)); err != nil {
		return nil, err
	}
	if err := b.quiet(ctx); err != nil {
		return nil, err
	}
	r, all, err := b.deliver(ctx, prefix, fewer)
	if err != nil {
		return nil, err
	}
	if err := remove(ctx, b.host, all); err != nil {
		return r, err
	}
	return r, b.until(ctx, patience, allRemoved(b.host))
}

// membersReady returns a condition that holds when all MemberClusters are Ready.
func membersReady(host client.Reader) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		list := &v1alpha1.MemberClusterList{}
		if err := host.List(ctx, list); err != nil {
			return "", err
		}
		for i := range list.Items {
			if !meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, v1alpha1.ConditionReady) {
				return list.Items[i].Name + " is not ready", nil
			}
		}
		return "", nil
	}
}

// remove deletes wrappers on the host.
func remove(ctx context.Context, host client.Writer, all []client.Object) error {
	return each(ctx, all, func(ctx context.Context, w client.Object) error {
		return client.IgnoreNotFound(host.Delete(ctx, w))
	})
}

// allRemoved returns a condition that holds when no deleted wrapper is on the host any more. Its objects are then gone from every member.
func allRemoved(host client.Reader) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		list := &v1alpha1.FederatedList{}
		if err := host.List(ctx, list); err != nil {
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
	}
}
