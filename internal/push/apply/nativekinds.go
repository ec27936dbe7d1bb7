// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// maxNativeKinds bounds the kinds that are remembered for one member. Past that the manager forgets them, and asks
// again.
const maxNativeKinds = 1024

// NativeKinds remembers which kinds the API server of one member serves by itself: the built-in ones, and those that a
// CustomResourceDefinition defines. Such a kind respects the precondition of a create-only apply. A server behind an
// APIService may ignore it, and merge the apply into another client's object.
type NativeKinds struct {
	mu sync.Mutex
	// byCRD reports for each kind that is not built in whether a CRD defines it.
	byCRD map[schema.GroupResource]bool
	// doubted is true after the API server has ignored the precondition. From then on no kind is native.
	doubted bool
}

// NewNativeKinds returns an empty cache.
func NewNativeKinds() *NativeKinds { return &NativeKinds{byCRD: make(map[schema.GroupResource]bool)} }

// has reports whether a kind is native. When that cannot be found out, it is not.
func (k *NativeKinds) has(ctx context.Context, conn *member.Conn, gk schema.GroupKind, resource string) bool {
	gr := schema.GroupResource{Group: gk.Group, Resource: resource}
	k.mu.Lock()
	byCRD, known := k.byCRD[gr]
	doubted := k.doubted
	k.mu.Unlock()
	switch {
	case doubted:
		return false
	case memberapi.IsBuiltIn(gk):
		return true
	case known:
		return byCRD
	}
	_, err := memberapi.Metadata(ctx, conn, memberapi.CRDPath(gr.String()))
	if err != nil && !apierrors.IsNotFound(err) {
		return false // and the next pass asks again
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.byCRD) >= maxNativeKinds {
		clear(k.byCRD)
	}
	k.byCRD[gr] = err == nil
	return err == nil
}

// doubt notes that the API server has ignored the precondition of a create-only apply.
func (k *NativeKinds) doubt() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.doubted = true
}
