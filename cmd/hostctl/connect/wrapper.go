// SPDX-License-Identifier: Apache-2.0

package connect

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
)

// Wrapper reads a wrapper from the host. The namespace of a ClusterFederated is "".
func Wrapper(ctx context.Context, host client.Client, kind v1alpha1.WrapperKind, namespace, name string) (v1alpha1.Wrapper, error) {
	var w v1alpha1.Wrapper = &v1alpha1.Federated{}
	if kind == v1alpha1.KindClusterFederated {
		w = &v1alpha1.ClusterFederated{}
	}
	key := client.ObjectKey{Namespace: namespace, Name: name}
	err := host.Get(ctx, key, w.(client.Object)) //nolint:forcetypeassert // both wrappers are client.Objects
	if apierrors.IsNotFound(err) {
		where := ""
		if kind == v1alpha1.KindFederated {
			where = fmt.Sprintf(" in namespace %s (-n NAMESPACE; cfed/NAME for a ClusterFederated)", namespace)
		}
		return nil, fmt.Errorf("there is no %s %s%s", kind, name, where)
	}
	if err != nil {
		return nil, fmt.Errorf("getting %s %s from the host: %w", kind, name, err)
	}
	return w, nil
}
