// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// Host is where wrappers and the registry of members are.
type Host interface {
	// Namespace is the one of the flags or of the kubeconfig's context.
	Namespace() (string, error)
	Members(ctx context.Context) ([]selection.Member, error)
	Wrapper(ctx context.Context, kind v1alpha1.WrapperKind, namespace, name string) (v1alpha1.Wrapper, error)
}

// cluster is the Host that a kubeconfig leads to. It connects when it is first asked.
type cluster struct {
	flags *genericclioptions.ConfigFlags
}

func newCluster() *cluster { return &cluster{flags: connect.Flags()} }

func (c *cluster) Namespace() (string, error) { return connect.Namespace(c.flags) }

func (c *cluster) Members(ctx context.Context) ([]selection.Member, error) {
	host, err := connect.Host(c.flags)
	if err != nil {
		return nil, err
	}
	var list v1alpha1.MemberClusterList
	if err := host.List(ctx, &list); err != nil {
		return nil, err
	}
	members := make([]selection.Member, 0, len(list.Items))
	for i := range list.Items {
		// A member that is leaving gets nothing any more.
		if list.Items[i].DeletionTimestamp == nil {
			members = append(members, selection.Member{Name: list.Items[i].Name, Labels: list.Items[i].Labels})
		}
	}
	return members, nil
}

func (c *cluster) Wrapper(ctx context.Context, kind v1alpha1.WrapperKind, namespace, name string) (v1alpha1.Wrapper, error) {
	host, err := connect.Host(c.flags)
	if err != nil {
		return nil, err
	}
	if kind == v1alpha1.KindClusterFederated {
		w := &v1alpha1.ClusterFederated{}
		return w, host.Get(ctx, types.NamespacedName{Name: name}, w)
	}
	w := &v1alpha1.Federated{}
	return w, host.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, w)
}
