// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/cmd/hostctl/connect"
	"github.com/fairlead-dev/fairlead/overrides/selection"
)

// HostReader reads wrappers and members from the host.
type HostReader interface {
	// Namespace returns the namespace of the flag --namespace, or by default the namespace of the kubeconfig's context.
	Namespace() (string, error)
	Members(ctx context.Context) ([]selection.Member, error)
	Wrapper(ctx context.Context, kind v1alpha1.WrapperKind, namespace, name string) (v1alpha1.Wrapper, error)
}

// hostSource is the HostReader for the host in the kubeconfig. It connects when a method needs the host for the first time.
type hostSource struct {
	flags *genericclioptions.ConfigFlags
}

func newHostSource() *hostSource { return &hostSource{flags: connect.Flags()} }

func (s *hostSource) Namespace() (string, error) { return connect.Namespace(s.flags) }

func (s *hostSource) Members(ctx context.Context) ([]selection.Member, error) {
	host, err := connect.Host(s.flags)
	if err != nil {
		return nil, err
	}
	return MembersOf(ctx, host)
}

// MembersOf returns the members that a placement can select. A member that is being unjoined is not one of them, because the manager
// pushes nothing to it.
func MembersOf(ctx context.Context, host client.Reader) ([]selection.Member, error) {
	var list v1alpha1.MemberClusterList
	if err := host.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("listing the members: %w", err)
	}
	members := make([]selection.Member, 0, len(list.Items))
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			members = append(members, selection.Member{Name: list.Items[i].Name, Labels: list.Items[i].Labels})
		}
	}
	return members, nil
}

func (s *hostSource) Wrapper(ctx context.Context, kind v1alpha1.WrapperKind, namespace, name string) (v1alpha1.Wrapper, error) {
	host, err := connect.Host(s.flags)
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
