// SPDX-License-Identifier: Apache-2.0

package intents

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
)

// Annotation has the entries of the list of shared intents.
const Annotation = v1alpha1.Group + "/intents"

// Use says what the manager knows of an entry of the list.
type Use int

const (
	// InUse means that the pass of the pair may apply objects of the entry now or later.
	InUse Use = iota
	// Recorded means that the pair's Delivery lists all objects of the entry, or no pass has applied one.
	Recorded
	// Open means that the pass has ended, and the pair's Delivery may lack objects that it has applied.
	Open
)

// List is the list of shared intents on one member. Its methods need a lock of the caller.
//
// The list is a Delivery of its own (marks.SharedIntents) without an inventory, and the entries are in an annotation. So
// the host has the right to write it on every member that was ever joined, and no CRD changes. The digest of the
// entries is the target, so that each write has a generation of its own.
type List struct {
	requests requests

	// there is the list after the last write; nil when the member has none.
	there   *v1alpha1.Delivery
	entries []Entry
	// doubted is true if the list on the member may be another than the one in memory: a write had no answer or was
	// refused, or the watch has brought a write that is not known.
	doubted bool
	// givenUp are the targets (see requests.write) of creates without an answer. No pass was told to use their entries, so a list that such a
	// create makes later is deleted as it is.
	givenUp sets.Set[string]
	// removed is the uid of the last list that this List has deleted. The watch may bring earlier versions of it later.
	removed types.UID
	// unreadable is the version of a list that cannot be decoded. The manager leaves it as it is.
	unreadable v1alpha1.DeliveryVersion
}

// Entry is one entry of the list.
type Entry struct {
	Spec v1alpha1.DeliverySpec
	Use  Use
	// refusal is why the member refuses the Delivery of an open entry; nil if it does not.
	refusal error
}

// Key names the wrapper of the entry.
func (e *Entry) Key() deliveries.Key { return deliveries.KeyOf(e.Spec.Wrapper) }

// NewList returns the list of a member, as if the member had none.
func NewList(conn *member.Conn, writer types.UID) *List {
	if writer == "" {
		writer = "unknown" // the CRD of Deliveries requires a uid
	}
	return &List{requests: requests{conn: conn, writer: writer}, givenUp: sets.New[string]()}
}

// IsDoubted reports whether the list has to be recovered before the next pass or write.
func (l *List) IsDoubted() bool { return l.doubted }

// IsUnreadable reports whether the member has a list that cannot be decoded.
func (l *List) IsUnreadable() bool { return l.unreadable.UID != "" }

// Keys returns the wrappers that have an entry.
func (l *List) Keys() []deliveries.Key {
	keys := make([]deliveries.Key, 0, len(l.entries))
	for i := range l.entries {
		keys = append(keys, l.entries[i].Key())
	}
	return keys
}

// SetUse sets what the manager knows of the entry of a wrapper.
func (l *List) SetUse(key deliveries.Key, use Use) {
	for i := range l.entries {
		if l.entries[i].Key() == key {
			l.entries[i].Use = use
		}
	}
}

// IsExactly reports whether a version of the list is the last one that this List has written or read.
func (l *List) IsExactly(version v1alpha1.DeliveryVersion) bool {
	return version == l.unreadable || l.there != nil && version == v1alpha1.DeliveryVersion{UID: l.there.UID, Generation: l.there.Generation}
}

// Contradicts reports whether an event of the watch shows that the list on the member is another than the one in memory. An event may be
// late, so earlier versions of the same list do not count. Generation 0 means that the list with this uid is gone, or every list if there
// is no uid.
func (l *List) Contradicts(version v1alpha1.DeliveryVersion) bool {
	switch {
	case version.Generation == 0:
		return l.there != nil && (version.UID == "" || version.UID == l.there.UID)
	case version == l.unreadable, version.UID == l.removed:
		return false
	}
	return l.there == nil || version.UID != l.there.UID || version.Generation > l.there.Generation
}

// Doubt records that the list on the member may be another than the one in memory.
func (l *List) Doubt() { l.doubted = true }

// Add writes the list with more entries, and without those that are recorded. It delivers the open ones before. It
// returns the entries that found no place. After an error the list is doubted, and the member may have the new entries
// or not.
func (l *List) Add(ctx context.Context, added []v1alpha1.DeliverySpec) (rest []v1alpha1.DeliverySpec, err error) {
	keep, err := l.settled(ctx)
	if err != nil {
		return added, err
	}
	bytes := 2
	for i := range keep {
		bytes += weight(&keep[i].Spec)
	}
	next := keep
	for i := range added {
		if bytes += weight(&added[i]); len(next) == maxEntries || bytes > maxBytes {
			return added[i:], l.write(ctx, next)
		}
		next = append(next, Entry{Spec: added[i]})
	}
	return nil, l.write(ctx, next)
}

// weight is the number of bytes that an entry takes in the list.
func weight(spec *v1alpha1.DeliverySpec) int {
	text, err := json.Marshal(spec)
	if err != nil {
		return maxBytes // write returns this error
	}
	return len(text) + 1
}

// Tidy delivers the open entries, and leaves only those in the list that are in use. It deletes a list without entries.
func (l *List) Tidy(ctx context.Context) error {
	keep, err := l.settled(ctx)
	if err != nil || len(keep) == len(l.entries) && len(keep) > 0 {
		return err
	}
	return l.write(ctx, keep)
}

// settled delivers the open entries. It returns the entries that have to stay in the list: those in use, and those whose Delivery the
// member refuses.
func (l *List) settled(ctx context.Context) (stay []Entry, err error) {
	for i := range l.entries {
		e := &l.entries[i]
		if e.Use == Open {
			_, err := l.requests.deliver(ctx, &e.Spec)
			switch {
			case isRefused(err):
				e.refusal = err
			case err != nil:
				return nil, err
			default:
				e.Use = Recorded
			}
		}
		if e.Use != Recorded {
			stay = append(stay, *e)
		}
	}
	return stay, nil
}

// isRefused reports whether a member refuses a Delivery for its content, so that the same request has no chance later.
func isRefused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err)
}

// Refusal returns why the member refuses the Delivery of a pair's open entry; nil if there is no such entry.
func (l *List) Refusal(key deliveries.Key) error {
	for i := range l.entries {
		if e := &l.entries[i]; e.Key() == key && e.Use == Open {
			return e.refusal
		}
	}
	return nil
}

// Recover reads the list, delivers all of its entries, and deletes it. It also delivers the entries in memory that are not recorded, because
// the member may have lost the list. It calls made with the Delivery of each entry, and ends with the first error of made. A list that
// cannot be decoded, or with an entry whose Delivery the member refuses, stays as it is.
func (l *List) Recover(ctx context.Context, made func(*v1alpha1.Delivery) error) error {
	l.doubted = true // until the end
	there, err := l.requests.get(ctx, marks.SharedIntents)
	if err != nil {
		return err
	}
	var entries []v1alpha1.DeliverySpec
	var unusable error
	if there != nil && !l.isGivenUp(there) {
		entries, unusable = Decode(there.Annotations[Annotation])
	}
	for i := range l.entries {
		if e := &l.entries[i]; e.Use != Recorded && e.refusal == nil {
			entries = append(entries, e.Spec)
		}
	}
	for i := range entries {
		delivered, err := l.requests.deliver(ctx, &entries[i])
		if isRefused(err) {
			unusable = err
			continue
		}
		if err != nil {
			return err
		}
		if err := made(delivered); err != nil {
			return err
		}
	}
	switch {
	case unusable != nil && there != nil:
		return l.leave(there, unusable)
	case there != nil:
		if err := l.remove(ctx, there); err != nil {
			return err
		}
	}
	l.there, l.entries, l.doubted, l.unreadable = nil, nil, false, v1alpha1.DeliveryVersion{}
	return nil
}

// leave gives up a list that cannot be delivered, and leaves it on the member.
func (l *List) leave(there *v1alpha1.Delivery, cause error) error {
	l.there, l.entries, l.doubted, l.unreadable = nil, nil, false, v1alpha1.DeliveryVersion{UID: there.UID, Generation: there.Generation}
	return &UnreadableError{Member: l.requests.conn.Name(), Cause: cause}
}

// UnreadableError says that the list of a member cannot be decoded.
type UnreadableError struct {
	Member string
	Cause  error
}

func (e *UnreadableError) Error() string {
	return fmt.Sprintf("member %s has a list of shared intents (Delivery %s) that this manager cannot read, so it leaves the list as it is, and pushes that were cut off "+
		"may have left objects that no Delivery lists: %s", e.Member, marks.SharedIntents, e.Cause)
}

func (e *UnreadableError) Unwrap() error { return e.Cause }

// write writes the list with these entries, or deletes it if there are none.
func (l *List) write(ctx context.Context, entries []Entry) error {
	if len(entries) == 0 {
		if l.there == nil {
			return nil
		}
		return l.remove(ctx, l.there)
	}
	specs := make([]v1alpha1.DeliverySpec, 0, len(entries))
	for i := range entries {
		specs = append(specs, entries[i].Spec)
	}
	text, err := Encode(specs)
	if err != nil {
		return err
	}
	written, err := l.requests.write(ctx, l.there, text, specs[0].Seal)
	if err != nil {
		if l.there == nil && !memberapi.Answered(err) {
			l.givenUp.Insert(targetOf(text))
		}
		l.doubted = true
		return fmt.Errorf("writing the list of shared intents: %w", err)
	}
	l.there, l.entries = written, entries
	return nil
}

// remove deletes the list if it still has this version.
func (l *List) remove(ctx context.Context, there *v1alpha1.Delivery) error {
	err := memberapi.DeleteExactly(ctx, l.requests.conn, deliveries.Path(marks.SharedIntents),
		metav1.Preconditions{UID: &there.UID, ResourceVersion: &there.ResourceVersion})
	if err != nil && !memberapi.IsAbsent(err) {
		l.doubted = true
		return fmt.Errorf("deleting the list of shared intents (Delivery %s) on member %s: %w", marks.SharedIntents, l.requests.conn.Name(), err)
	}
	l.there, l.entries, l.removed = nil, nil, there.UID
	return nil
}

// isGivenUp reports whether the list is that of a create whose answer was lost.
func (l *List) isGivenUp(there *v1alpha1.Delivery) bool {
	return there.Spec.Target != nil && l.givenUp.Has(there.Spec.Target.Rendering)
}
