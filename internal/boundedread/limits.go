// SPDX-License-Identifier: Apache-2.0

package boundedread

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Each of these limits is for one response body, in bytes.
const (
	// MaxList is the limit of one page of a list. A page of 500 Deliveries of the largest size is smaller.
	MaxList = 64 << 20
	// MaxAnswer is the limit of a response that is neither a list nor a watch. An object in etcd has at most 1.5 MiB, but
	// its JSON may be larger.
	MaxAnswer = 8 << 20
	// MaxEvent is the limit of one event of a watch.
	MaxEvent = 4 << 20
	// MaxRefusal is the limit of an error response, which usually has one sentence.
	MaxRefusal = 64 << 10
)

const (
	// maxInHand is the limit of the weight of all responses of one member that are being read at the same time. MaxList is the limit of
	// their bytes. These bytes may be in memory twice, because a reader doubles its buffer when the buffer is full.
	maxInHand = 256 << 20
	// MaxCached is the limit of the weight of all caches that a collector has of its member. A hundred thousand objects
	// need about a third of it.
	MaxCached = 128 << 20
	// MaxPages is the largest number of pages of one list that Fairlead reads, so that a member cannot send an endless list. No
	// known member has a longer list.
	MaxPages = 200
)

// errTooMuch means that the budget of a Source has no room for another object.
var errTooMuch = fmt.Errorf("the member's objects need more than %d MiB of memory, the limit of a collector for one member", MaxCached>>20)

// TooLargeError is the error of reading a response that exceeds a limit. Fairlead closes the connection, and drops what
// it has read.
type TooLargeError struct {
	// Request is the method and the path of the request.
	Request string
	// Max is the limit of one response, in bytes.
	Max int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("Fairlead did not read the answer to %s: it is larger than %s, or all answers of the member together need too much memory. "+
		"Does spec.endpoint lead to a Kubernetes API server?",
		e.Request, resource.NewQuantity(int64(e.Max), resource.BinarySI))
}

// IsTooLarge reports whether an answer was not read because of its size. That concerns what was asked for, and not the member: users of the
// member can make an object or a list large.
func IsTooLarge(err error) bool {
	tooLarge := (*TooLargeError)(nil)
	return errors.As(err, &tooLarge)
}
