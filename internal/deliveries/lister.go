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

	"github.com/fairlead-dev/fairlead/internal/boundedread"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// errTooMuch is the error of a member whose Deliveries need more memory than the host has for one member.
var errTooMuch = fmt.Errorf("its Deliveries take more than the %d MiB of memory that the host has for the Deliveries of one member", maxWeight>>20)

// lister lists and watches the Deliveries of a member. It makes a summary of each Delivery of a page, and drops the Delivery. Only one reflector may use it.
type lister struct {
	index *Index
	conn  *member.Conn
	// pages and weight count the pages of the present list and the weight of their summaries.
	pages, weight int
}

// pageTimeout is how long a member may take to answer with one page.
const pageTimeout = time.Minute

var _ cache.ListerWatcherWithContext = &lister{}

// ListWithContext implements cache.ListerWatcherWithContext. It lists one page.
func (d *lister) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.Continue == "" {
		d.pages, d.weight = 0, 0
		// With resourceVersion "0" the API server would answer from its cache, with all Deliveries in one page.
		options.ResourceVersion, options.ResourceVersionMatch = "", ""
	}
	list, err := d.page(ctx, options)
	if err != nil {
		d.noteUnreadable(err)
		return nil, fmt.Errorf("listing the Deliveries of member %s: %w", d.conn.Name(), err)
	}
	return list, nil
}

func (d *lister) page(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if d.pages++; d.pages > boundedread.MaxPages {
		return nil, member.ErrEndlessList
	}
	ctx, cancel := context.WithTimeout(ctx, pageTimeout)
	defer cancel()
	d.index.liveness.setListing(true)
	whole, page := &pageOnWire{}, &metainternal.List{}
	req := d.request(&options)
	if options.Limit == 0 {
		// The reflector asks for all Deliveries in one answer when the continue token has expired. The limit tells package
		// boundedread that the answer is a list, which may be large.
		req.Param("limit", "0")
	}
	err := whole.read(req.Do(ctx))
	if err != nil || whole.Metadata.Continue == "" {
		d.index.liveness.setListing(false)
	}
	if err != nil {
		return nil, err
	}
	page.ListMeta = whole.Metadata
	for i := range whole.Items { // the reflector holds all pages until it has the last one
		e := newDecoded(whole.Items[i].delivery())
		if d.weight += e.summary.weight(); d.weight > maxWeight {
			d.index.liveness.setListing(false)
			return nil, errTooMuch
		}
		page.Items = append(page.Items, e)
	}
	return page, nil
}

// WatchWithContext implements cache.ListerWatcherWithContext.
func (d *lister) WatchWithContext(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	options.Watch = true
	body, err := d.request(&options).Stream(ctx)
	if err != nil {
		return nil, err
	}
	return newWatch(d.index, body), nil
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

// IsWatchListSemanticsUnSupported keeps the reflector to paged lists. A streamed list would hold all Deliveries in memory before
// the first of them is summarised.
func (d *lister) IsWatchListSemanticsUnSupported() bool { return true }

// noteUnreadable notes why the Deliveries cannot be read, when the reason lies in the Deliveries. The probe reports errors of
// the network.
func (d *lister) noteUnreadable(err error) {
	tooLarge := (*boundedread.TooLargeError)(nil)
	if errors.Is(err, errTooMuch) || errors.Is(err, member.ErrEndlessList) || errors.As(err, &tooLarge) {
		d.index.noteUnreadable(err.Error())
	}
}
