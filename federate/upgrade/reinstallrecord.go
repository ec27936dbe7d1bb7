// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxRecord is the greatest length of the annotation in bytes. Anyone with rights in fairlead-system of the member could write a
// longer one.
const maxRecord = 64 << 10

// Begun is the record of a reinstall, which the manager writes before it removes the first object. The Delivery keeps it, so
// it outlives the manager.
type Begun struct {
	Removal
	// At is when the reinstall began.
	At metav1.Time `json:"at"`
	// Ended is when the operator was created again, or the manager stopped because the author accepts the later version; nil
	// before that. From then on the record removes nothing. It only tells when the operator was last reinstalled.
	Ended *metav1.Time `json:"ended,omitempty"`
	// Settled is true if the operator was Healthy after the reinstall, or if nothing remains to wait for. Until then the reinstall
	// holds the turn of other members.
	Settled bool `json:"settled,omitempty"`
}

// Records has the last reinstall of each Subscription of a wrapper on a member, by the names of the Subscriptions.
type Records map[string]Begun

// ParseRecords reads the annotation of a Delivery. The error says why the annotation cannot be used.
func ParseRecords(text string) (all Records, err error) {
	switch {
	case text == "":
		return nil, nil
	case len(text) > maxRecord:
		return nil, fmt.Errorf("it has more than %d bytes", maxRecord)
	case json.Unmarshal([]byte(text), &all) != nil:
		return nil, errors.New("it is not the expected JSON")
	}
	return all, nil
}

// RecordState tells how far the reinstalls in the records of a Delivery are.
type RecordState uint8

const (
	// NothingRecorded means that no reinstall is under way, and none is waited for.
	NothingRecorded RecordState = iota
	// RecordUnsettled means that an operator was created again, and was not yet Healthy since.
	RecordUnsettled
	// RecordOpen means that a reinstall has begun, and its operator may be removed.
	RecordOpen
)

// State returns the state of the reinstall that is least far.
func (r Records) State() RecordState {
	state := NothingRecorded
	for _, one := range r {
		switch {
		case one.Ended == nil:
			return RecordOpen
		case !one.Settled:
			state = RecordUnsettled
		}
	}
	return state
}
