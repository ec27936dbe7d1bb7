// SPDX-License-Identifier: Apache-2.0

package push

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/internal/member"
)

// sighting is a Delivery on its way from the wire to the lane: its name, and what is kept of it.
type sighting struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	seen *Seen
}

func sight(d *v1alpha1.Delivery) *sighting {
	return &sighting{ObjectMeta: metav1.ObjectMeta{Name: cut(d.Name, maxName), ResourceVersion: d.ResourceVersion}, seen: summarise(d)}
}

// DeepCopyObject implements runtime.Object. What is seen never changes.
func (s *sighting) DeepCopyObject() runtime.Object {
	return &sighting{TypeMeta: s.TypeMeta, ObjectMeta: *s.ObjectMeta.DeepCopy(), seen: s.seen}
}

// sightings reads the events of a member's watch of Deliveries. Every write of ours comes back by it, so that it is read
// by a decoder of its own, as lists are (listOnWire): client-go's takes twice the time and memory (see
// BenchmarkAnEventOfAWatch), and makes objects of the managedFields, which are half of it.
type sightings struct {
	lane   *lane
	body   io.Closer
	events *json.Decoder
}

// newWatch is what body, the answer to a watch, tells. It ends with body.
func newWatch(l *lane, body io.ReadCloser) apiwatch.Interface {
	// A connection that broke, or bytes that are no event: the reflector lists again.
	return apiwatch.NewStreamWatcher(&sightings{lane: l, body: body, events: json.NewDecoder(body)},
		apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding"))
}

var _ apiwatch.Decoder = &sightings{}

// onWire is as much of a Delivery as is read of an event.
type onWire struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
		Generation      int64     `json:"generation"`
	} `json:"metadata"`
	Spec   v1alpha1.DeliverySpec   `json:"spec"`
	Status v1alpha1.DeliveryStatus `json:"status"`
}

func (w *onWire) delivery() *v1alpha1.Delivery {
	return &v1alpha1.Delivery{
		ObjectMeta: metav1.ObjectMeta{
			Name: w.Metadata.Name, UID: w.Metadata.UID, ResourceVersion: w.Metadata.ResourceVersion, Generation: w.Metadata.Generation,
		},
		Spec: w.Spec, Status: w.Status,
	}
}

// listOnWire is a page of Deliveries, of which no more is read either.
type listOnWire struct {
	Kind     string          `json:"kind"`
	Metadata metav1.ListMeta `json:"metadata"`
	Items    []onWire        `json:"items"`
}

// read takes in the answer to a list.
func (w *listOnWire) read(result rest.Result) error {
	body, err := member.Body(result)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, w); err != nil {
		return err
	}
	if w.Kind != "DeliveryList" {
		return fmt.Errorf("the answer is a %s and not a DeliveryList: is spec.endpoint that of a Kubernetes API server?", cut(w.Kind, maxName))
	}
	return nil
}

// Decode implements watch.Decoder.
func (s *sightings) Decode() (apiwatch.EventType, runtime.Object, error) {
	var event struct {
		Type   apiwatch.EventType `json:"type"`
		Object json.RawMessage    `json:"object"`
	}
	if err := s.events.Decode(&event); err != nil {
		return "", nil, err
	}
	switch event.Type {
	case apiwatch.Error:
		status := &metav1.Status{}
		if err := json.Unmarshal(event.Object, status); err != nil {
			return "", nil, fmt.Errorf("reading the end of a watch: %w", err)
		}
		return event.Type, status, nil
	case apiwatch.Added, apiwatch.Modified, apiwatch.Deleted, apiwatch.Bookmark:
	default:
		return "", nil, fmt.Errorf("reading an event of a watch: %q is no type of any", cut(string(event.Type), maxName))
	}
	is := onWire{}
	if err := json.Unmarshal(event.Object, &is); err != nil {
		return "", nil, fmt.Errorf("reading an event of a watch: %w", err)
	}
	if is.Kind != "Delivery" {
		return "", nil, fmt.Errorf("reading an event of a watch: it is of a %s and not of a Delivery", cut(is.Kind, maxName))
	}
	seen := sight(is.delivery())
	if event.Type != apiwatch.Deleted && !s.lane.hasRoomFor(seen) {
		s.lane.noteUnlisted(errTooMuch)
		return apiwatch.Error, &metav1.Status{Status: metav1.StatusFailure, Message: errTooMuch.Error()}, nil
	}
	return event.Type, seen, nil
}

// Close implements watch.Decoder.
func (s *sightings) Close() { _ = s.body.Close() } // nothing is read from it any more
