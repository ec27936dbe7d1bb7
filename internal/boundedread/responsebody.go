// SPDX-License-Identifier: Apache-2.0

package boundedread

import (
	"io"
	"net/http"
	"regexp"
	"sync"
)

// Answers limits the bodies of all responses on one connection. It is safe for concurrent use.
type Answers struct{ bytes, weight *Budget }

// NewAnswers makes the limits for one connection.
func NewAnswers() *Answers {
	return &Answers{bytes: NewBudget(MaxList), weight: NewBudget(maxInHand)}
}

// Used returns how many bytes of the open bodies were read so far, and how much these bytes weigh once decoded, by
// estimate.
func (a *Answers) Used() (bytes, weight int64) { return a.bytes.Used(), a.weight.Used() }

// add takes bytes and weight out of the budgets; negative numbers give them back. It reports whether both budgets
// suffice.
func (a *Answers) add(bytes, weight int) bool {
	light := a.weight.add(int64(weight))
	return a.bytes.add(int64(bytes)) && light
}

// Body limits the body of a response. A read of the body fails with a *TooLargeError if the response exceeds its own
// limit, or if all responses of the connection together exceed a budget. Closing the body calls closed.
func (a *Answers) Body(req *http.Request, resp *http.Response, closed func()) io.ReadCloser {
	b := &body{ReadCloser: resp.Body, closed: closed, answers: a, max: MaxAnswer, request: req.Method + " " + req.URL.Path}
	b.isText = IsLog(req)
	switch asked := req.URL.Query(); {
	case resp.StatusCode >= http.StatusBadRequest:
		b.max = MaxRefusal
	case asked.Has("watch"):
		b.max, b.events = MaxEvent, true
	case asked.Has("limit"), asked.Has("resourceVersion"):
		b.max = MaxList
	}
	return b
}

// podLog matches the path of a pod's log. The API server may be served below a path of its own.
var podLog = regexp.MustCompile(`/api/v1/namespaces/[^/]+/pods/[^/]+/log$`)

// IsLog reports whether a request reads the log of a container.
func IsLog(req *http.Request) bool {
	return req.Method == http.MethodGet && podLog.MatchString(req.URL.Path)
}

// body is the limited body of one response.
type body struct {
	io.ReadCloser
	// max is the limit in bytes for the whole response, or for each event of a watch.
	max int
	// read is how many bytes of the response, or of the present event of a watch, were read so far.
	read int
	// isText is true for a log. No caller decodes it, so it weighs as much as its bytes.
	isText bool
	// events is true for the answer to a watch, which is a sequence of JSON values.
	events  bool
	request string
	closed  func()

	answers *Answers

	// mu protects the fields below, because one goroutine may close a body while another reads it.
	mu      sync.Mutex
	weigher weigher
	// bytes is how many bytes this body has taken out of the budget of bytes.
	bytes int
	// weight is how much this body has taken out of the budget of weight.
	weight int
	// isClosed is true after Close. Bytes that still arrive then are not counted.
	isClosed bool
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.closed()
	b.mu.Lock()
	b.giveBack()
	b.isClosed = true
	b.mu.Unlock()
	return b.ReadCloser.Close()
}

// giveBack returns to the budgets everything that the body has taken out of them. The caller holds mu.
func (b *body) giveBack() {
	b.answers.add(-b.bytes, -b.weight)
	b.bytes, b.weight = 0, 0
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	for fresh := p[:n]; len(fresh) > 0 && !b.isClosed; {
		length, weight, ended := len(fresh), len(fresh), false
		if !b.isText {
			length, weight, ended = b.weigher.weigh(fresh)
		}
		fresh = fresh[length:]
		b.read, b.bytes, b.weight = b.read+length, b.bytes+length, b.weight+weight
		if !b.answers.add(length, weight) || b.read > b.max {
			return 0, &TooLargeError{Request: b.request, Max: b.max}
		}
		if ended && b.events { // white space before the next event counts towards that event
			b.read = 0
			b.giveBack()
		}
	}
	return n, err
}
