// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"time"

	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
)

const (
	// atOnce is how many explanations from pods, and how many answers, a Reader reads at the same time. It bounds the memory that the answers take.
	atOnce = 2
	// atMost is how long the explanation of one object may take. A node that does not answer must not hold up the other objects of the
	// Delivery.
	atMost = 5 * time.Second
)

// Reader reads explanations from one member. It is safe for concurrent use.
type Reader struct {
	client *memberclient.Client
	places chan struct{}
	// answers bounds the answers in the same way. Explanations do not wait for answers, and answers not for explanations.
	answers chan struct{}
}

// New makes a Reader.
func New(client *memberclient.Client) *Reader {
	return &Reader{client: client, places: make(chan struct{}, atOnce), answers: make(chan struct{}, atOnce)}
}
