// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"time"

	"github.com/fairlead-dev/fairlead/internal/collect/memberclient"
)

const (
	// atOnce is how many calls of Explain, and how many calls of Answer, a Reader serves at the same time. It bounds the memory that the
	// member's responses take.
	atOnce = 2
	// atMost is how long the explanation of one object may take. A node that does not answer must not hold up the other objects of the
	// Delivery.
	atMost = 5 * time.Second
)

// Reader reads explanations from one member. It is safe for concurrent use.
type Reader struct {
	client *memberclient.Client
	places chan struct{}
	// answers bounds the calls of Answer, as places bounds the calls of Explain. So neither of them makes the other wait.
	answers chan struct{}
}

// New makes a Reader.
func New(client *memberclient.Client) *Reader {
	return &Reader{client: client, places: make(chan struct{}, atOnce), answers: make(chan struct{}, atOnce)}
}
