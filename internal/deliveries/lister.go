// SPDX-License-Identifier: Apache-2.0

package deliveries

import (
	"context"
	"errors"
	"fmt"
	"time"

	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/federate/marks"
	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// errTooMuch means that the summaries of a member's Deliveries need more memory than the host has for one member.
var errTooMuch = fmt.Errorf("the Deliveries of the member need more than %d MiB of memory on the host, which is the limit for one member", maxWeight>>20)

// lister lists and watches the Deliveries of a member, and keeps only their summaries. Only one reflector may use a lister, because the
// lister remembers the state of the list that the reflector reads.
type lister struct {
	conn     *member.Conn
	liveness *liveness
	sink     *sink
	// pages is how many pages of the present list were requested so far.
	pages int
	// weight is the weight of the summaries in these pages, in bytes.
	weight int
	// evidence is the weight of the evidence in these pages, in bytes.
	evidence int
	// shared is the version of the list of shared intents in these pages; nil if they have none.
	shared *v1alpha1.DeliveryVersion
}

// pageTimeout bounds how long a member may take to answer with one page.
const pageTimeout = time.Minute

var _ cache.ListerWatcherWithContext = &lister{}

// ListWithContext implements cache.ListerWatcherWithContext. It lists one page; the reflector calls it for each page.
func (d *lister) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.Continue == "" {
		d.pages, d.weight, d.evidence, d.shared = 0, 0, 0, nil
		// The reflector asks for resourceVersion "0". The API server would then answer from its cache, and send all
		// Deliveries at once instead of a page.
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
	}
	list, err := d.page(ctx, options)
	if err == nil && list.Continue == "" {
		err = d.recoverShared(ctx, list)
	}
	if err != nil || list.Continue == "" {
		d.liveness.setListing(false)
	}
	if err != nil {
		d.noteUnreadable(err)
		return nil, fmt.Errorf("listing the Deliveries of member %s: %w", d.conn.Name(), err)
	}
	return list, nil
}

// recoverShared adds to the last page of a list the Deliveries that the list of shared intents replaces so far.
func (d *lister) recoverShared(ctx context.Context, last *metainternal.List) error {
	if d.shared == nil || d.sink.shared == nil {
		return nil
	}
	return d.sink.shared.Recover(ctx, *d.shared, func(delivery *v1alpha1.Delivery) error {
		e := newDecoded(delivery)
		if d.weight += e.summary.weight(); d.weight > maxWeight {
			return errTooMuch
		}
		d.boundEvidence(e)
		last.Items = append(last.Items, e)
		return nil
	})
}

func (d *lister) page(ctx context.Context, options metav1.ListOptions) (*metainternal.List, error) {
	if d.pages++; d.pages > boundedread.MaxPages {
		return nil, member.ErrEndlessList
	}
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	d.liveness.setListing(true)
	whole, page := &pageOnWire{}, &metainternal.List{}
	req := d.request(&options)
	if options.Limit == 0 {
		// The continue token has expired, so the reflector asks for all Deliveries at once. Package boundedread recognises by
		// this parameter that the answer is a list, and allows a larger answer.
		req.Param("limit", "0")
	}
	if err := whole.read(req.Do(ctx)); err != nil {
		return nil, err
	}
	page.ListMeta = whole.Metadata
	for i := range whole.Items { // the reflector keeps all pages until it has the last one, so the pages must have only summaries
		e := newDecoded(whole.Items[i].delivery())
		if d.weight += e.summary.weight(); d.weight > maxWeight {
			return nil, errTooMuch
		}
		if e.Name == marks.SharedIntents {
			d.shared = &v1alpha1.DeliveryVersion{UID: e.summary.UID, Generation: e.summary.Generation}
		}
		d.boundEvidence(e)
		page.Items = append(page.Items, e)
	}
	return page, nil
}

// boundEvidence takes the evidence away from a listed Delivery if the list has too much of it.
func (d *lister) boundEvidence(e *decoded) {
	weight := boundedread.EvidenceWeight(e.evidence.Objects) + boundedread.AnswersWeight(e.evidence.Answers)
	if d.evidence+weight > maxListedEvidence {
		e.evidence = Evidence{Omitted: true}
		return
	}
	d.evidence += weight
}

// WatchWithContext implements cache.ListerWatcherWithContext.
func (d *lister) WatchWithContext(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	options.Watch = true
	body, err := d.request(&options).Stream(ctx)
	if err != nil {
		return nil, err
	}
	return newWatch(d.sink, body), nil
}

func (d *lister) request(options *metav1.ListOptions) *rest.Request {
	return d.conn.REST().Get().AbsPath(Path("")...).VersionedParams(options, metav1.ParameterCodec)
}

// List implements cache.ListerWatcher.
func (d *lister) List(options metav1.ListOptions) (runtime.Object, error) {
	return d.ListWithContext(context.Background(), options)
}

// Watch implements cache.ListerWatcher.
func (d *lister) Watch(options metav1.ListOptions) (apiwatch.Interface, error) {
	return d.WatchWithContext(context.Background(), options)
}

// IsWatchListSemanticsUnSupported makes the reflector use paged lists. A list that is streamed as watch events would be
// in memory as a whole before the method hasRoomFor could refuse it.
func (d *lister) IsWatchListSemanticsUnSupported() bool { return true }

// noteUnreadable records why the Deliveries cannot be read, if the reason is the Deliveries themselves. Other errors
// are left out: the probe reports an outage of the member.
func (d *lister) noteUnreadable(err error) {
	if errors.Is(err, errTooMuch) || errors.Is(err, member.ErrEndlessList) || boundedread.IsTooLarge(err) {
		d.sink.noteUnreadable(err.Error())
	}
}
