// SPDX-License-Identifier: Apache-2.0

package intents

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

const (
	// maxEntries bounds the entries of a list.
	maxEntries = 64
	// maxBytes bounds the JSON of the entries. Kubernetes allows 256 KiB for all annotations of an object.
	maxBytes = 255 << 10
)

// Encode returns the JSON of a list's entries, which are specs of Deliveries.
func Encode(entries []v1alpha1.DeliverySpec) (string, error) {
	text, err := json.Marshal(entries)
	if err != nil {
		return "", fmt.Errorf("encoding shared intents: %w", err)
	}
	return string(text), nil
}

// Decode reads what Encode returned. It refuses fields that this version does not know: to deliver an entry without
// them could lose what they say.
func Decode(text string) ([]v1alpha1.DeliverySpec, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("the list of shared intents has %d bytes, and the limit is %d", len(text), maxBytes)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	var entries []v1alpha1.DeliverySpec
	if err := decoder.Decode(&entries); err != nil {
		return nil, fmt.Errorf("decoding the list of shared intents: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("the list of shared intents has more than one JSON value")
	}
	if len(entries) > maxEntries {
		return nil, fmt.Errorf("the list of shared intents has %d entries, and the limit is %d", len(entries), maxEntries)
	}
	for i := range entries {
		w := &entries[i].Wrapper
		if w.Name == "" || w.UID == "" || w.Kind != v1alpha1.KindFederated && w.Kind != v1alpha1.KindClusterFederated {
			return nil, fmt.Errorf("entry %d of the list of shared intents names no wrapper", i)
		}
		if why := validation.IsDNS1123Subdomain(deliveries.KeyOf(*w).Delivery()); len(why) > 0 {
			return nil, fmt.Errorf("entry %d of the list of shared intents names no wrapper: %s", i, why[0])
		}
	}
	return entries, nil
}

// unlisted returns the objects of an entry that a Delivery does not list.
func unlisted(entry *v1alpha1.DeliverySpec, delivery *v1alpha1.DeliverySpec) []v1alpha1.InventoryEntry {
	listed := make(map[plan.ObjectID]bool, len(delivery.Inventory))
	for i := range delivery.Inventory {
		listed[plan.IDOf(&delivery.Inventory[i])] = true
	}
	var missing []v1alpha1.InventoryEntry
	for i := range entry.Inventory {
		if !listed[plan.IDOf(&entry.Inventory[i])] {
			missing = append(missing, entry.Inventory[i])
		}
	}
	return missing
}
