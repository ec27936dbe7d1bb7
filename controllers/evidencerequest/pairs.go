// SPDX-License-Identifier: Apache-2.0

package evidencerequest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	rules "github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/internal/deliveries"
	"github.com/fairlead-dev/fairlead/internal/push"
)

// leftoverAfter is how long the loop waits before it removes requests for which it knows no report. After a start of the manager, the
// loop usually reads all reports within this time. If it reads a report later, it sets the request of that report again.
const leftoverAfter = 10 * time.Second

// maxLeftovers is how many pairs of one member with requests without a report the loop remembers at once, so that a hostile member cannot fill
// the queue. The host never writes requests into more Deliveries of a member. The loop ignores further pairs until the next change of their
// Delivery. Requests that stay in a Delivery have no effect once they have expired.
const maxLeftovers = rules.MaxOnMember

// Requests has the requests that the Deliveries on the members are to have. push.EvidenceRequests implements it.
type Requests interface {
	// Set sets all requests that the Delivery of a pair is to have. It does not block.
	Set(key deliveries.Key, memberName string, requests []v1alpha1.EvidenceRequest)
	// Of reports whether the Delivery of a pair has the requests of the last call of Set. If it does not have them, problem is the reason.
	// problem is nil if the manager is about to write them.
	Of(key deliveries.Key, memberName string) (isWritten bool, problem *rules.Problem)
	// OnChange sets the listener. push calls the listener when it has written the requests of a pair, and when the result of Of may have
	// changed for another reason.
	OnChange(l push.RequestListener)
}

// pair is one wrapper on one member.
type pair struct {
	key    deliveries.Key
	member string
}

// pairs has the requests of all pairs, and the members' answers to them. It is safe for concurrent use.
type pairs struct {
	deliveries *deliveries.Store
	requests   Requests
	clock      clock.PassiveClock
	// wake enqueues an item. It must not block.
	wake func(item, time.Duration)

	mu sync.Mutex
	// asks has the reports whose requests may be sent.
	asks map[types.NamespacedName]*ask
	all  map[pair]*onPair
	// leftovers are the pairs whose Deliveries have requests for which the loop knows no report. The loop does not remove these requests
	// before it has had time to read the reports.
	leftovers map[pair]bool
}

// ask is the request of one report.
type ask struct {
	pair pair
	rules.Ask
	// waits is true if the Delivery or the member has as many requests as it may have. The loop then does not send this request yet.
	waits bool
}

// onPair is what the loop knows about one pair with requests.
type onPair struct {
	// wrapper is the uid of the wrapper.
	wrapper types.UID
	// list are the requests of the Delivery.
	list []v1alpha1.EvidenceRequest
	// answers are the last answers of the member, which arrived at the time at.
	answers []v1alpha1.EvidenceAnswer
	at      time.Time
}

func newPairs(store *deliveries.Store, requests Requests, clk clock.PassiveClock, wake func(item, time.Duration)) *pairs {
	p := &pairs{deliveries: store, requests: requests, clock: clk, wake: wake, asks: make(map[types.NamespacedName]*ask), all: make(map[pair]*onPair),
		leftovers: make(map[pair]bool)}
	store.Subscribe(p)
	requests.OnChange(p.requested)
	return p
}

// ask sends the request of a report, if it is not sent yet, and returns what became of it.
func (p *pairs) ask(name types.NamespacedName, is *report) outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	on := pair{is.key, is.member}
	if p.asks[name] == nil {
		if known := p.all[on]; known == nil || known.wrapper != is.spec.Spec.Wrapper.UID {
			p.all[on] = &onPair{wrapper: is.spec.Spec.Wrapper.UID}
		}
		p.asks[name] = &ask{pair: on, Ask: rules.AskOf(is.spec, is.key.Delivery())}
		p.assign(is.member)
	}
	a, known := p.asks[name], p.all[on]
	if a.waits {
		return outcome{Problem: rules.Problem{Reason: v1alpha1.ReasonRequestLimitReached, Message: fmt.Sprintf("the wrapper has %d requests on member %s already, "+
			"or %d reports with requests, or all wrappers together have %d requests there: this request waits until one of those ends",
			evidence.MaxAnswers, is.member, rules.MaxReports, rules.MaxOnMember)}}
	}
	isWritten, problem := p.requests.Of(is.key, is.member)
	if problem != nil {
		return outcome{Problem: *problem}
	}
	if answer := rules.AnswerTo(&a.Ask, known.list, known.answers); answer != nil {
		return outcome{Problem: rules.Problem{Reason: v1alpha1.ReasonAnswered, Message: answer.Message}, answer: answer, at: known.at}
	}
	message := fmt.Sprintf("the request is on its way to member %s", is.member)
	if isWritten {
		message = fmt.Sprintf("member %s has the request, and its collector has not answered yet; if that takes more than some seconds, see condition "+
			"CollectorReady of the MemberCluster", is.member)
	}
	return outcome{Problem: rules.Problem{Reason: v1alpha1.ReasonRequestPending, Message: message}}
}

// remove takes back the request of a report.
func (p *pairs) remove(name types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.asks[name]; a != nil {
		delete(p.asks, name)
		p.assign(a.pair.member)
	}
}

// withdraw takes the requests out of the Delivery of a pair, unless the loop has found a report about the pair meanwhile. If the
// wrapper does not exist, or is not placed on the member, the Delivery is an orphan, and withdraw changes nothing: a hostile member could
// show any number of orphans, and each would cost a write.
func (p *pairs) withdraw(on pair, isPlaced bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.leftovers, on)
	if p.all[on] == nil && isPlaced {
		p.requests.Set(on.key, on.member, nil)
	}
}

// leftoversOf returns how many pairs of a member have leftovers.
func (p *pairs) leftoversOf(member string) (n int) {
	for on := range p.leftovers {
		if on.member == member {
			n++
		}
	}
	return n
}

// withLeftovers returns the pairs whose Deliveries have requests without a report.
func (p *pairs) withLeftovers() []pair {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.leftovers))
}

// assign decides which requests the Deliveries of one member get, and sets those that have changed.
func (p *pairs) assign(member string) {
	var asks []rules.Ask
	used := make(map[pair]bool)
	for _, a := range p.asks {
		if a.pair.member == member {
			asks = append(asks, a.Ask)
			used[a.pair] = true
		}
	}
	is := rules.Assign(asks)
	for name, a := range p.asks {
		if a.pair.member == member && a.waits != is.Waiting[a.Report] {
			a.waits = is.Waiting[a.Report]
			p.wake(item{report: name}, 0)
		}
	}
	for on, known := range p.all {
		if on.member != member {
			continue
		}
		list := is.Lists[on.key.Delivery()]
		if !rules.SameList(known.list, list) || !used[on] {
			known.list = list
			p.requests.Set(on.key, on.member, list)
		}
		if !used[on] {
			delete(p.all, on)
		}
	}
}

// requested implements push.RequestListener. If push has just written the requests of the pair, d is the Delivery in the API server's
// response; otherwise nil.
func (p *pairs) requested(key deliveries.Key, member string, d *v1alpha1.Delivery) {
	p.mu.Lock()
	defer p.mu.Unlock()
	on := pair{key, member}
	// Answers that the watch has brought stay: they may be newer than those in the response to the write.
	if known := p.all[on]; known != nil && d != nil && d.Spec.Wrapper.UID == known.wrapper && known.answers == nil {
		known.answers, known.at = deliveries.AnswersIn(d), p.clock.Now()
	}
	p.wakeAsking(on)
}

// wakeAsking enqueues the reports that ask about a pair.
func (p *pairs) wakeAsking(on pair) {
	for name, a := range p.asks {
		if a.pair == on {
			p.wake(item{report: name}, 0)
		}
	}
}

var _ deliveries.Listener = &pairs{}

// Changed implements deliveries.Listener.
func (p *pairs) Changed(x *deliveries.Index, c deliveries.Change) {
	if c.Is == nil || c.Evidence.Omitted {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.all) == 0 && len(c.Evidence.Requests) == 0 || p.deliveries.Of(x.Member()) != x {
		return
	}
	on := pair{deliveries.KeyOf(c.Is.Wrapper), x.Member()}
	if on.key.Delivery() != c.Name {
		return
	}
	known := p.all[on]
	if known == nil {
		if len(c.Evidence.Requests) > 0 && !p.leftovers[on] && p.leftoversOf(on.member) < maxLeftovers {
			p.leftovers[on] = true
			p.wake(item{pair: on}, leftoverAfter)
		}
		return
	}
	if known.wrapper != c.Is.Wrapper.UID || len(known.answers) == len(c.Evidence.Answers) && reflect.DeepEqual(known.answers, c.Evidence.Answers) {
		return
	}
	known.answers, known.at = c.Evidence.Answers, p.clock.Now()
	p.wakeAsking(on)
}

// Listed implements deliveries.Listener.
func (*pairs) Listed(*deliveries.Index, map[string]int64) {}

// Readable implements deliveries.Listener.
func (*pairs) Readable(*deliveries.Index, bool) {}

// Unreadable implements deliveries.Listener.
func (*pairs) Unreadable(*deliveries.Index) {}
