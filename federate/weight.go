// SPDX-License-Identifier: Apache-2.0

package federate

import "github.com/fairlead-dev/fairlead/apis/v1alpha1"

// EntryWeight is about how many bytes an element of a list takes in memory beside its texts.
const EntryWeight = 200

// WeightOf is about how many bytes of memory a status takes, beside its own fields. Both who holds Deliveries, the host and
// the collector, bound what a member makes them hold by it: a text that is not weighed is one to fill the memory with.
func WeightOf(status *v1alpha1.DeliveryStatus) int {
	weight := len(status.ObservedRendering) + len(status.Version)
	for i := range status.Objects {
		o := &status.Objects[i]
		weight += EntryWeight + len(o.Group) + len(o.Kind) + len(o.Name) + len(o.Health) + len(o.Reason) + len(o.Message)
		if o.Drift == nil {
			continue
		}
		weight += EntryWeight + len(o.Drift.Kind) + len(o.Drift.Manager) + len(o.Drift.ResourceVersion)
		for _, field := range o.Drift.Fields {
			weight += 16 + len(field)
		}
	}
	return weight
}
