// SPDX-License-Identifier: Apache-2.0

package memberapi

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-dev/fairlead/internal/member"
)

// maxNativeKinds is the largest number of kinds of one member that a NativeKinds remembers. A NativeKinds that is full
// forgets all of them, and the next passes ask the member again.
const maxNativeKinds = 1024

// NativeKinds remembers which kinds of one member are native. A native kind is one that the API server itself serves,
// because the kind is built in or a CustomResourceDefinition defines it. For a native kind, the API server respects the
// resourceVersion of a create-only apply. The server of an aggregated API may ignore the resourceVersion, and merge the
// apply into an object of another client.
type NativeKinds struct {
	mu sync.Mutex
	// byCRD has each kind that the manager has looked up: true if a CRD defines the kind. Built-in kinds are not looked
	// up.
	byCRD map[schema.GroupResource]bool
	// doubted is true after the API server has ignored the resourceVersion of a create-only apply. From then on, no kind
	// of this member counts as native.
	doubted bool
}

// NewNativeKinds returns an empty cache.
func NewNativeKinds() *NativeKinds { return &NativeKinds{byCRD: make(map[schema.GroupResource]bool)} }

// Has reports whether a kind is native. It returns false if the manager cannot find that out.
func (k *NativeKinds) Has(ctx context.Context, conn *member.Conn, gk schema.GroupKind, resource string) bool {
	gr := schema.GroupResource{Group: gk.Group, Resource: resource}
	k.mu.Lock()
	byCRD, known := k.byCRD[gr]
	doubted := k.doubted
	k.mu.Unlock()
	switch {
	case doubted:
		return false
	case IsBuiltIn(gk):
		return true
	case known:
		return byCRD
	}
	_, err := Metadata(ctx, conn, CRDPath(gr.String()))
	if err != nil && !apierrors.IsNotFound(err) {
		return false // not remembered: the next pass asks again
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.byCRD) >= maxNativeKinds {
		clear(k.byCRD)
	}
	k.byCRD[gr] = err == nil
	return err == nil
}

// Doubt records that the API server has ignored the resourceVersion of a create-only apply.
func (k *NativeKinds) Doubt() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.doubted = true
}
