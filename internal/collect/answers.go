// SPDX-License-Identifier: Apache-2.0

package collect

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/evidence"
	"github.com/fairlead-dev/fairlead/federate/evidencerequest"
	"github.com/fairlead-dev/fairlead/federate/health"
	"github.com/fairlead-dev/fairlead/internal/collect/deliveryindex"
	"github.com/fairlead-dev/fairlead/internal/collect/explain"
	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
	"github.com/fairlead-dev/fairlead/internal/collect/objectcache"
)

const (
	// answerEvery is the time between two answers to a request.
	answerEvery = 5 * time.Second
	// answerAtMost is how long the answers of one pass may take. The next pass makes the answers for which this time was too short.
	answerAtMost = 5 * time.Second
	// answerBusy is the time until the next try if the collector is busy with other requests.
	answerBusy = time.Second
	// maxAnswerProblem is the limit of an error in an answer, in bytes.
	maxAnswerProblem = 256
)

// answerer answers the requests for evidence in Deliveries.
type answerer struct {
	client  *memberclient.Client
	clock   clock.PassiveClock
	cache   *objectcache.Cache
	related *related
	explain *explain.Reader
}

// asked is what the collector remembers about one request.
type asked struct {
	// first is the time at which the collector first saw the request, by its own clock. at is the time of its last answer; zero before the
	// first answer.
	first, at time.Time
	answer    v1alpha1.EvidenceAnswer
}

// askedKey identifies a request. It includes the time at which the request expires, so a later request for the same evidence has another
// key.
type askedKey struct {
	lineKey
	what    v1alpha1.EvidenceType
	since   int32
	expires int64
}

func askedKeyOf(r *v1alpha1.EvidenceRequest) askedKey {
	return askedKey{lineKey{schema.GroupKind{Group: r.Group, Kind: r.Kind}, r.Name}, r.Type, r.SinceSeconds, r.Expires.Unix()}
}

// answer adds to the new status the answers to the requests in the Delivery that have not expired. A Delivery without requests costs
// nothing.
func (a *answerer) answer(ctx context.Context, p *pass) {
	requests := p.delivery.Spec.Requests
	if len(requests) == 0 {
		p.memory.asked = nil
		return
	}
	ctx, cancel := context.WithTimeout(ctx, answerAtMost)
	defer cancel()
	known := p.memory.asked
	p.memory.asked = make(map[askedKey]*asked, len(requests))
	now := a.clock.Now()
	for i := range requests[:min(len(requests), evidence.MaxAnswers)] {
		r := &requests[i]
		key := askedKeyOf(r)
		is := known[key]
		if is == nil {
			is = &asked{first: now}
		}
		p.memory.asked[key] = is // expired requests too: the age of a forgotten one would begin at zero again
		left := min(r.Expires.Sub(a.client.Now()), evidencerequest.MaxAge-now.Sub(is.first))
		if left <= 0 {
			continue
		}
		p.recheck(left)
		if wait := answerEvery - now.Sub(is.at); wait > 0 && !is.at.IsZero() {
			p.recheck(wait)
		} else if ctx.Err() == nil {
			a.read(ctx, p, r, is)
		} else {
			p.recheck(answerBusy)
		}
		if is.at.IsZero() {
			is.answer = answerIn(p.delivery, r)
		}
		if is.answer.Request.Kind != "" {
			p.answers = append(p.answers, is.answer)
		}
	}
}

// answerIn returns the answer to a request from the present status; an empty answer if there is none. A collector that ran before this one
// may have written the answer.
func answerIn(d *v1alpha1.Delivery, r *v1alpha1.EvidenceRequest) v1alpha1.EvidenceAnswer {
	for i := range d.Status.Answers {
		if is := &d.Status.Answers[i]; evidencerequest.Same(&is.Request, r) {
			return *is
		}
	}
	return v1alpha1.EvidenceAnswer{}
}

// read reads the evidence for one request. If that fails, the previous answer stays. Without a previous answer, the new answer says that
// the read failed.
func (a *answerer) read(ctx context.Context, p *pass, r *v1alpha1.EvidenceRequest, is *asked) {
	found, err := a.find(ctx, p, r)
	if errors.Is(err, explain.ErrBusy) {
		p.recheck(answerBusy)
		return
	}
	before := is.answer
	if before.Request.Kind == "" {
		before = answerIn(p.delivery, r)
	}
	is.at = a.clock.Now()
	p.recheck(answerEvery)
	switch {
	case err == nil:
		is.answer = v1alpha1.EvidenceAnswer{Request: *r, Message: found.Message, Evidence: found.Evidence}
	case before.Request.Kind != "":
		is.answer = before
	default:
		is.answer = v1alpha1.EvidenceAnswer{Request: *r, Message: "the collector could not read the evidence, and tries again: " + health.Tidy(err.Error(), maxAnswerProblem)}
	}
}

// find finds the object of a request, and reads the evidence about it. It reads nothing about a Secret, or about an object that the Delivery
// does not list as applied.
func (a *answerer) find(ctx context.Context, p *pass, r *v1alpha1.EvidenceRequest) (explain.Answer, error) {
	entry := entryOf(p.delivery, r)
	if entry == nil || entry.Resource == "" || entry.State != v1alpha1.EntryApplied {
		return explain.Answer{Message: fmt.Sprintf("the Delivery does not list %s %s as applied", r.Kind, r.Name)}, nil
	}
	ref := deliveryindex.RefOf(p.delivery, entry)
	if ref.GroupResource == deliveryindex.Secrets {
		return explain.Answer{Message: "collectors read no Secrets"}, nil
	}
	gone := explain.Answer{Message: fmt.Sprintf("%s %s is not on the member", r.Kind, r.Name)}
	seen := a.cache.See(ref)
	switch {
	case seen.State == objectcache.Forbidden:
		return explain.Answer{Message: notGranted(ref.GroupResource).Message}, nil
	case seen.State == objectcache.Unread:
		return explain.Answer{}, errors.New("the collector does not watch objects of this kind yet")
	case !seen.Found:
		return gone, nil
	}
	obj := explain.Stub(seen.GVR.GroupVersion().WithKind(entry.Kind), ref.Namespace, ref.Name, string(seen.Record.UID))
	var related health.Related
	if health.HasPods(deliveryindex.KindOf(entry)) {
		var err error
		if obj, related, err = a.readObject(ctx, ref, seen.GVR); err != nil {
			if apierrors.IsNotFound(err) {
				return gone, nil
			}
			return explain.Answer{}, err
		}
	}
	return a.explain.Answer(ctx, obj, &related, r)
}

func (a *answerer) readObject(ctx context.Context, ref deliveryindex.Ref, gvr schema.GroupVersionResource) (*unstructured.Unstructured, health.Related, error) {
	obj, err := a.client.Read(ctx, gvr, ref.Namespace, ref.Name)
	if err != nil {
		return nil, health.Related{}, err
	}
	related, err := a.related.read(ctx, obj, ref)
	return obj, related, err
}

// entryOf returns the entry of the inventory for the object of a request; nil if the Delivery does not list it.
func entryOf(d *v1alpha1.Delivery, r *v1alpha1.EvidenceRequest) *v1alpha1.InventoryEntry {
	for i := range d.Spec.Inventory {
		if e := &d.Spec.Inventory[i]; e.Group == r.Group && e.Kind == r.Kind && e.Name == r.Name {
			return e
		}
	}
	return nil
}
