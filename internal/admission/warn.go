// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/placement"
	"github.com/fairlead-dev/fairlead/overrides"
)

const (
	// maxWarnings bounds the warnings of one answer. API servers drop warnings past 4 KiB in total.
	maxWarnings = 10
	// maxRegistryWait is how long an answer waits for the list of members. A manager that has just started may not have
	// the list yet. It then accepts a wrapper without warnings about unknown members.
	maxRegistryWait = time.Second
)

// Members returns a function that reports whether a MemberCluster is registered. known is false if the registry cannot
// be read now.
type Members func(ctx context.Context) (registered func(name string) bool, known bool)

// MembersOf reads the registry from a cache.
func MembersOf(cache client.Reader) Members {
	return func(ctx context.Context) (func(string) bool, bool) {
		ctx, cancel := context.WithTimeout(ctx, maxRegistryWait)
		defer cancel()
		list := &v1alpha1.MemberClusterList{}
		if err := cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, false
		}
		names := make(map[string]bool, len(list.Items))
		for i := range list.Items {
			// A member that is leaving counts as gone, as it does for the placement.
			if list.Items[i].DeletionTimestamp == nil {
				names[list.Items[i].Name] = true
			}
		}
		return func(name string) bool { return names[name] }, true
	}
}

// warnings returns the warnings for the author of an accepted wrapper.
func (m Members) warnings(ctx context.Context, spec *v1alpha1.WrapperSpec) []string {
	var out []string
	if registered, known := m(ctx); known {
		for _, unknown := range placement.UnknownNames(spec, registered) {
			out = append(out, unknown.String())
		}
	}
	out = append(out, overrides.Warnings(spec)...)
	out = append(out, unorderedTargets(spec)...)
	if over := len(out) - maxWarnings; over > 0 {
		out = append(out[:maxWarnings], fmt.Sprintf("%d more warnings are left out", over))
	}
	return out
}
