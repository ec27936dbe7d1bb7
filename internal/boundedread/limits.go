// SPDX-License-Identifier: Apache-2.0

package boundedread

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The limits of one answer, in bytes.
const (
	// MaxList is the limit of one page of a list. A page of 500 Deliveries, each with all that it may hold, is less.
	MaxList = 64 << 20
	// MaxAnswer is the limit of any other answer. No object in etcd is larger than 1.5 MiB, of which JSON may make more.
	MaxAnswer = 8 << 20
	// MaxEvent is the limit of one event of a watch.
	MaxEvent = 4 << 20
	// MaxRefusal is the limit of a refusal, which is a sentence for people.
	MaxRefusal = 64 << 10
)

const (
	// maxInHand limits the weight of all answers of one member that are being read at the same time. MaxList also
	// limits their bytes on the wire together. The reader may hold those bytes twice, because its buffer doubles.
	maxInHand = 256 << 20
	// MaxCached is what all that a collector holds of its member may weigh. A hundred thousand objects weigh a third of that.
	MaxCached = 128 << 20
	// MaxPages ends a list that has no end. No member that we know has more pages.
	MaxPages = 200
)

// errTooMuch is the error of a Source that has no room for an object.
var errTooMuch = fmt.Errorf("it takes more than the %d MiB of memory that a collector has for one member", MaxCached>>20)

// TooLargeError is the error of an answer that is larger than Fairlead reads. What was read is dropped, and so is the
// connection.
type TooLargeError struct {
	// Request is the method and the path, Max the limit in bytes.
	Request string
	Max     int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("Fairlead did not read the answer to %s: it is larger than %s, or it exceeds with the member's other answers the memory for them; "+
		"is this a Kubernetes API server?",
		e.Request, resource.NewQuantity(int64(e.Max), resource.BinarySI))
}
