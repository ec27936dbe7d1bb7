// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

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

// With returns these records with the changed ones. It drops the settled records whose reinstall began an hour ago: they no longer hold back
// another reinstall of the same operator. Otherwise the records of a wrapper with many Subscriptions would only grow.
func (r Records) With(changed Records, now time.Time) Records {
	next := make(Records, len(r)+len(changed))
	for name, one := range r {
		if !one.Settled || one.holdsBack(now) {
			next[name] = one
		}
	}
	maps.Copy(next, changed)
	return next
}

// holdsBack reports whether the operator must not be reinstalled again yet.
func (b *Begun) holdsBack(now time.Time) bool { return now.Sub(b.At.Time) < reinstallsApart }

// Text returns the annotation of a Delivery. It returns an error if ParseRecords would refuse the text.
func (r Records) Text() (string, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encoding the records of reinstalls: %w", err)
	}
	if len(text) > maxRecord {
		return "", fmt.Errorf("the records of this wrapper's reinstalls would have more than %d bytes; the manager drops a settled one an hour after its reinstall has begun", maxRecord)
	}
	return string(text), nil
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
