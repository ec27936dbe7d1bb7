// SPDX-License-Identifier: Apache-2.0

package boundedread

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The limits of one answer, in bytes.
const (
	// MaxList is the limit of one page of a list. Even a page of 500 Deliveries of the largest size is smaller.
	MaxList = 64 << 20
	// MaxAnswer is the limit of any other answer. No object in etcd is larger than 1.5 MiB; its JSON may be larger.
	MaxAnswer = 8 << 20
	// MaxEvent is the limit of one event of a watch.
	MaxEvent = 4 << 20
	// MaxRefusal is the limit of an error response, which is a sentence for people.
	MaxRefusal = 64 << 10
)

const (
	// maxInHand limits the weight of all answers of one member that are being read at the same time. MaxList also
	// limits the sum of their bytes on the wire. The reader may hold those bytes twice, because its buffer doubles when
	// it grows.
	maxInHand = 256 << 20
	// MaxCached limits the weight of everything that a collector holds of its member. A hundred thousand objects need
	// about a third of it.
	MaxCached = 128 << 20
	// MaxPages ends a list that never ends. No known member has more pages.
	MaxPages = 200
)

// errTooMuch is the error of a Source whose budget has no room for an object.
var errTooMuch = fmt.Errorf("the objects need more than the %d MiB of memory that a collector has for one member", MaxCached>>20)

// TooLargeError is the error for an answer that is larger than Fairlead reads. Fairlead drops what it has read of the
// answer, and closes the connection.
type TooLargeError struct {
	// Request is the method and the path. Max is the limit in bytes.
	Request string
	Max     int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("Fairlead did not read the answer to %s: it is larger than %s, or all answers of the member together need too much memory. "+
		"Does spec.endpoint lead to a Kubernetes API server?",
		e.Request, resource.NewQuantity(int64(e.Max), resource.BinarySI))
}
