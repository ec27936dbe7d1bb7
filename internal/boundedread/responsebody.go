// SPDX-License-Identifier: Apache-2.0

package boundedread

import (
	"io"
	"net/http"
	"sync"
)

// Answers bounds the bodies of all answers on one connection. It is safe for concurrent use.
type Answers struct{ bytes, weight *Budget }

// NewAnswers makes the bound of one connection.
func NewAnswers() *Answers {
	return &Answers{bytes: NewBudget(MaxList), weight: NewBudget(maxInHand)}
}

// Used returns the sums over all bodies that are being read now: the bytes read so far, and their weight once decoded.
func (a *Answers) Used() (bytes, weight int64) { return a.bytes.Used(), a.weight.Used() }

// add takes bytes and weight out of the budgets. Negative numbers give them back. It reports whether both budgets
// suffice.
func (a *Answers) add(bytes, weight int) bool {
	light := a.weight.add(int64(weight))
	return a.bytes.add(int64(bytes)) && light
}

// Body bounds the body of an answer. Reading it fails with a *TooLargeError if the answer is larger than its limit, or
// if all answers together exceed their budget. Closing it calls closed.
func (a *Answers) Body(req *http.Request, resp *http.Response, closed func()) io.ReadCloser {
	b := &body{ReadCloser: resp.Body, closed: closed, answers: a, max: MaxAnswer, request: req.Method + " " + req.URL.Path}
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

// body is the body of one answer.
type body struct {
	io.ReadCloser
	max, read int
	// events is true for a sequence of JSON values. max is then the limit of each value.
	events  bool
	request string
	closed  func()

	answers *Answers

	// mu is needed because one goroutine reads a watch and another closes it.
	mu      sync.Mutex
	weigher weigher
	// bytes and weight are the amounts that this body has taken out of the budgets. A closed body takes nothing more.
	bytes, weight int
	isClosed      bool
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

// giveBack returns to the budgets everything that the body has taken. The caller holds the lock.
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
		length, weight, ended := b.weigher.weigh(fresh)
		fresh = fresh[length:]
		b.read, b.bytes, b.weight = b.read+length, b.bytes+length, b.weight+weight
		if !b.answers.add(length, weight) || b.read > b.max {
			return 0, &TooLargeError{Request: b.request, Max: b.max}
		}
		if ended && b.events { // the white space before the next value counts towards that value
			b.read = 0
			b.giveBack()
		}
	}
	return n, err
}
