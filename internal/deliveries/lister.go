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

// errTooMuch says that a member holds more than the host keeps in memory of one.
var errTooMuch = fmt.Errorf("its Deliveries take more than the %d MiB of memory that the host has for those of one member", maxWeight>>20)

// lister lists and watches the Deliveries of a member, each of them cut down at once. One reflector uses it.
type lister struct {
	index *Index
	conn  *member.Conn
	// pages are those of the list that is being read, weight what they weigh.
	pages, weight int
}

// pageTimeout is how long a member may take to answer with one page.
const pageTimeout = time.Minute

var _ cache.ListerWatcherWithContext = &lister{}

func (d *lister) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	if options.Continue == "" {
		d.pages, d.weight = 0, 0
		// "Any version will do" would be answered from the cache of the API server, with everything at once.
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
		// All at once, where the pages that follow have expired: by this the guard knows a list, which may be large.
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
	for i := range whole.Items { // all pages are in memory until the last has come
		e := newDecoded(whole.Items[i].delivery())
		if d.weight += e.summary.weight(); d.weight > maxWeight {
			d.index.liveness.setListing(false)
			return nil, errTooMuch
		}
		page.Items = append(page.Items, e)
	}
	return page, nil
}

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

func (d *lister) List(options metav1.ListOptions) (runtime.Object, error) {
	return d.ListWithContext(context.Background(), options)
}

func (d *lister) Watch(options metav1.ListOptions) (apiwatch.Interface, error) {
	return d.WatchWithContext(context.Background(), options)
}

// IsWatchListSemanticsUnSupported keeps the reflector to paged lists: a streamed one would hold all
// Deliveries in memory before the first of them is trimmed.
func (d *lister) IsWatchListSemanticsUnSupported() bool { return true }

// noteUnreadable takes in why the Deliveries cannot be read, where that is for what they are: what the wire does, the probe
// tells.
func (d *lister) noteUnreadable(err error) {
	tooLarge := (*boundedread.TooLargeError)(nil)
	if errors.Is(err, errTooMuch) || errors.Is(err, member.ErrEndlessList) || errors.As(err, &tooLarge) {
		d.index.noteUnreadable(err.Error())
	}
}
