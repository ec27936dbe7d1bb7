// SPDX-License-Identifier: Apache-2.0

package push

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/member"
	"github.com/fairlead-dev/fairlead/internal/push/apply"
	"github.com/fairlead-dev/fairlead/internal/push/intents"
	"github.com/fairlead-dev/fairlead/internal/push/memberapi"
	"github.com/fairlead-dev/fairlead/internal/push/plan"
)

// tidyAfter is the time without new pairs after which the manager deletes the list of shared intents.
const tidyAfter = 5 * time.Second

// sharedIntents lets the new pairs of one member share the write of their intents (package intents). It also delivers
// what an interrupted manager has left in the member's list, whether or not this manager shares intents itself.
type sharedIntents struct {
	clock clock.WithTicker
	// again queues a pair, so that it gets a turn.
	again func(Key, time.Duration)
	// isConfirmed reports whether a probe has confirmed that the member is the cluster that this host joined. Before that, the manager
	// must write nothing.
	isConfirmed func() bool

	mu    sync.Mutex
	turns intents.Turns[*sharingPass]
	// shares is true if new pairs share the write of their intents.
	shares bool
	// listed are the pairs that have an entry in the list.
	listed sets.Set[Key]
	// doubted is true if the list has to be recovered before the next pass.
	doubted bool
	// seen is the last version of the list that the watch has brought.
	seen v1alpha1.DeliveryVersion

	// listing is locked during each request about the list. It guards list. Lock it before mu.
	listing sync.Mutex
	list    *intents.List

	// sighted gets a signal when seen has changed, and unused when no pair needs the list any more.
	sighted, unused chan struct{}
}

// sharingPass is a pass that waits until the list has the intent of its pair.
type sharingPass struct {
	desired *plan.Desired
	todo    *plan.Work
	pass    *apply.Pass
	intent  *v1alpha1.DeliverySpec
}

func newSharedIntents(conn *member.Conn, host *Host, clk clock.WithTicker, again func(Key, time.Duration), isConfirmed func() bool) *sharedIntents {
	return &sharedIntents{clock: clk, again: again, isConfirmed: isConfirmed, shares: host.SharesIntents, listed: sets.New[Key](),
		sighted: make(chan struct{}, 1), unused: make(chan struct{}, 1), list: intents.NewList(conn, host.UID)}
}

// turn says what a new pair does in its turn. For Alone it makes an ordinary pass. For Waiting it ends its turn. For Share it makes the
// pass that turn returns.
func (s *sharedIntents) turn(
	ctx context.Context, key Key, desired *plan.Desired, todo *plan.Work, prepare func(*plan.Work) *apply.Pass,
) (intents.Turn, *sharingPass, error) {
	s.mu.Lock()
	if !s.shares {
		unused, isWriting := s.turns.Leave(key) // it may have waited when the member refused the list
		s.mu.Unlock()
		s.use(key, unused, intents.Recorded)
		if isWriting {
			return intents.Waiting, nil, nil
		}
		return intents.Alone, nil, nil
	}
	turn, prepared, next := s.turns.Begin(key, s.clock.Now())
	if prepared != nil && !desired.Same(prepared.desired) {
		unused, _ := s.turns.Leave(key)
		if turn == intents.Share { // Begin has begun that pass already
			s.turns.End(key)
			unused = true
		}
		s.mu.Unlock()
		s.use(key, unused, intents.Recorded)
		s.mu.Lock()
		turn, prepared, next = s.turns.Begin(key, s.clock.Now())
	}
	if turn == intents.Share && (s.doubted || !s.listed.Has(key)) {
		// The list that had the intent may be gone, so the pair needs an intent of its own, or has a Delivery already.
		s.turns.GoAlone(key)
		turn, todo.IsNew = intents.Alone, false
	}
	s.mu.Unlock()
	if turn == intents.Waiting {
		s.again(key, next)
	}
	if turn != intents.Join {
		return turn, prepared, nil
	}
	own := *todo
	p := prepare(&own)
	intent, err := p.SharedIntent(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if intent == nil || err != nil || s.listed.Has(key) {
		s.turns.GoAlone(key)
		return intents.Alone, nil, err
	}
	s.turns.Wait(key, &sharingPass{desired: desired, todo: &own, pass: p, intent: intent}, s.clock.Now())
	s.again(key, intents.BatchWait)
	return intents.Waiting, nil, nil
}

// waiting returns how many new pairs wait for a write of the list.
func (s *sharedIntents) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.turns.Waiting()
}

// use sets what the manager knows of the entry of a pair, if it has one.
func (s *sharedIntents) use(key Key, has bool, use intents.Use) {
	if has {
		s.listing.Lock()
		s.list.SetUse(key, use)
		s.listing.Unlock()
	}
}

// leave records that a pair does not make the pass that it prepared. It reports whether the write of its intent is under way: then the
// pair must make no other pass in this turn, and gets another turn after the write.
func (s *sharedIntents) leave(key Key) (isWriting bool) {
	s.mu.Lock()
	unused, isWriting := s.turns.Leave(key)
	s.mu.Unlock()
	s.use(key, unused, intents.Recorded)
	return isWriting
}

// shared records the end of the pass of a pair that shared its intent. isRecorded reports whether the pair's Delivery lists all that the
// pass has applied.
func (s *sharedIntents) shared(key Key, isRecorded bool) {
	use := intents.Open
	if isRecorded {
		use = intents.Recorded
	}
	s.use(key, true, use)
}

// end records that the turn of a pair is over, and writes the intents of the pairs that wait, if that is due.
func (s *sharedIntents) end(ctx context.Context, key Key) {
	s.mu.Lock()
	unused := s.turns.End(key)
	s.mu.Unlock()
	s.use(key, unused, intents.Recorded)
	for s.writeBatch(ctx) {
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doubted || s.turns.IsIdle() && s.listed.Len() > 0 {
		signal(s.unused)
	}
}

// writeBatch writes the intents of the pairs that wait, if that is due. It reports whether it did.
func (s *sharedIntents) writeBatch(ctx context.Context) bool {
	s.mu.Lock()
	batch := s.turns.Batch(s.clock.Now())
	var specs []v1alpha1.DeliverySpec
	for _, key := range batch {
		specs = append(specs, *s.turns.Prepared(key).intent)
	}
	s.mu.Unlock()
	if len(batch) == 0 {
		return false
	}
	s.listing.Lock()
	defer s.listing.Unlock()
	rest := specs
	var err error
	if !s.isConfirmed() {
		err = fmt.Errorf("a probe has to confirm first which cluster answers")
	} else {
		err = s.recoverDoubted(ctx)
	}
	if err == nil {
		rest, err = s.list.Add(ctx, specs)
	}
	if err != nil {
		rest = specs
		log.FromContext(ctx).Info("new pairs write their intents by themselves", "error", err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && memberapi.Answered(err) && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsInvalid(err) && !apierrors.IsNotFound(err) {
		s.shares = false // until the next connection, so that a member that refuses the list is not asked for each batch
	}
	s.look()
	for i, key := range batch {
		if i >= len(batch)-len(rest) {
			s.turns.Rejected(key)
		} else if s.turns.Written(key) {
			s.list.SetUse(key, intents.Recorded)
		}
		s.again(key, 0)
	}
	return true
}

// look copies what passes need to know of the list. The caller holds both locks.
func (s *sharedIntents) look() {
	s.listed = sets.New(s.list.Keys()...)
	s.doubted = s.list.IsDoubted()
	if s.list.IsUnreadable() {
		s.shares = false
	}
}

// settle makes sure that the list has no entry of a pair, before an ordinary pass of the pair. It reports whether the list had one, so that
// the member may have a Delivery that the host has not seen yet.
func (s *sharedIntents) settle(ctx context.Context, key Key) (had bool, err error) {
	s.mu.Lock()
	had = s.doubted || s.listed.Has(key)
	s.mu.Unlock()
	if !had {
		return false, nil
	}
	s.listing.Lock()
	defer s.listing.Unlock()
	if err := s.tidyList(ctx); err != nil {
		return true, err
	}
	return true, s.list.Refusal(key)
}

// tidyList removes all entries from the list that are not in use, and delivers the open ones. The caller holds the lock listing.
func (s *sharedIntents) tidyList(ctx context.Context) error {
	err := s.recoverDoubted(ctx)
	if err == nil {
		err = s.list.Tidy(ctx)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.look()
	return err
}

// recoverDoubted recovers the list if it is doubted. The caller holds the lock listing.
func (s *sharedIntents) recoverDoubted(ctx context.Context) error {
	if !s.list.IsDoubted() {
		return nil
	}
	return s.recover(ctx, func(*v1alpha1.Delivery) error { return nil }) // the watch brings the Deliveries
}

// recover recovers the list. It only logs that a list cannot be read, because pushes go on without it. The caller holds the lock listing.
func (s *sharedIntents) recover(ctx context.Context, made func(*v1alpha1.Delivery) error) error {
	err := s.list.Recover(ctx, made)
	if unreadable := (*intents.UnreadableError)(nil); errors.As(err, &unreadable) {
		log.FromContext(ctx).Error(err, "a list of shared intents stays as it is")
		return nil
	}
	return err
}

// run acts on what the watch brings of the list, and deletes the list when it has not been needed for some time. It returns when ctx ends.
func (s *sharedIntents) run(ctx context.Context) {
	var idle <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.sighted:
			s.compare()
		case <-s.unused:
			if idle == nil {
				idle = s.clock.After(tidyAfter)
			}
		case <-idle:
			idle = nil
			s.tidy(ctx)
		}
	}
}

// signal sends on a channel with room for one signal, unless a signal is there already.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// tidy deletes the list if no new pair waits or has a pass.
func (s *sharedIntents) tidy(ctx context.Context) {
	s.listing.Lock()
	defer s.listing.Unlock()
	s.mu.Lock()
	due := s.doubted || s.turns.IsIdle() && s.listed.Len() > 0
	s.mu.Unlock()
	if !due {
		return
	}
	if !s.isConfirmed() {
		signal(s.unused)
		return
	}
	if err := s.tidyList(ctx); err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Info("the list of shared intents stays for now", "error", err.Error())
		signal(s.unused)
	}
}

// recoverListed implements deliveries.SharedIntents.
func (s *sharedIntents) recoverListed(ctx context.Context, version v1alpha1.DeliveryVersion, made func(*v1alpha1.Delivery) error) error {
	s.listing.Lock()
	defer s.listing.Unlock()
	if s.list.IsExactly(version) && !s.list.IsDoubted() {
		return nil
	}
	s.list.Doubt() // passes wait for the end of the recovery
	s.mu.Lock()
	s.look()
	s.mu.Unlock()
	if !s.isConfirmed() {
		return fmt.Errorf("reading the list of shared intents (Delivery %s) waits until a probe has confirmed which cluster answers", marks.SharedIntents)
	}
	err := s.recover(ctx, made)
	s.mu.Lock()
	s.look()
	s.mu.Unlock()
	return err
}

// compare doubts the list if the watch has brought a write of it that is not known. The watch often brings a write before its answer
// comes, so compare waits for the write that may be under way. The list is recovered before the next pass, or after tidyAfter. So a member
// that changes the list again and again gets few requests.
func (s *sharedIntents) compare() {
	s.mu.Lock()
	version := s.seen
	s.mu.Unlock()
	s.listing.Lock()
	if s.list.Contradicts(version) {
		s.list.Doubt()
		s.mu.Lock()
		s.look()
		s.mu.Unlock()
		signal(s.unused)
	}
	s.listing.Unlock()
}

var _ deliveries.SharedIntents = observer{}

// Recover implements deliveries.SharedIntents.
func (o observer) Recover(ctx context.Context, version v1alpha1.DeliveryVersion, made func(*v1alpha1.Delivery) error) error {
	return o.shares.recoverListed(ctx, version, made)
}

// Seen implements deliveries.SharedIntents.
func (o observer) Seen(version v1alpha1.DeliveryVersion) {
	o.shares.mu.Lock()
	o.shares.seen = version
	o.shares.mu.Unlock()
	signal(o.shares.sighted)
}
