// SPDX-License-Identifier: Apache-2.0

package deliveries

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

// decoded is one Delivery from a list or a watch event, reduced to its name, its summary and its evidence. It implements
// runtime.Object because client-go's reflector handles only such objects.
type decoded struct {
	metav1.TypeMeta
	metav1.ObjectMeta
	summary *Summary
	// evidence is what the collector saw about objects that are not healthy, or about which a person asked. The index passes it on and does not keep it.
	evidence Evidence
}

func newDecoded(d *v1alpha1.Delivery) *decoded {
	return &decoded{ObjectMeta: metav1.ObjectMeta{Name: cut(d.Name, maxName), ResourceVersion: d.ResourceVersion}, summary: Summarise(d),
		evidence: Evidence{Objects: boundEvidence(d.Status.Evidence), Requests: boundRequests(d.Spec.Requests), Answers: AnswersIn(d)}}
}

// DeepCopyObject implements runtime.Object. The copy has the same summary and evidence, because both never change.
func (e *decoded) DeepCopyObject() runtime.Object {
	return &decoded{TypeMeta: e.TypeMeta, ObjectMeta: *e.ObjectMeta.DeepCopy(), summary: e.summary, evidence: e.evidence}
}

// decoder decodes the events of a member's watch of Deliveries. The watch brings every write of the host back as an
// event, so decoding has to be cheap. Client-go's decoder takes twice the time and memory (BenchmarkAnEventOfAWatch),
// among other reasons because it decodes managedFields, which are half of an event until the first patch of the Delivery.
type decoder struct {
	sink   *sink
	body   io.Closer
	events *json.Decoder
}

// newWatch returns a watch of the events in body, which is the answer to a watch request. The watch ends with the body.
func newWatch(s *sink, body io.ReadCloser) apiwatch.Interface {
	// If the connection breaks, or body has bytes that are no event, the watch ends with an error, and the reflector lists
	// again.
	return apiwatch.NewStreamWatcher(&decoder{sink: s, body: body, events: json.NewDecoder(body)},
		apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding"))
}

var _ apiwatch.Decoder = &decoder{}

// onWire has the fields of a Delivery's JSON that the host reads.
type onWire struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name            string    `json:"name"`
		UID             types.UID `json:"uid"`
		ResourceVersion string    `json:"resourceVersion"`
		Generation      int64     `json:"generation"`
		Annotations     struct {
			Reinstalls string `json:"federation.fairlead.dev/reinstalls"` // v1alpha1.AnnotationReinstalls
		} `json:"annotations"`
	} `json:"metadata"`
	Spec   v1alpha1.DeliverySpec   `json:"spec"`
	Status v1alpha1.DeliveryStatus `json:"status"`
}

func (w *onWire) delivery() *v1alpha1.Delivery {
	d := &v1alpha1.Delivery{
		ObjectMeta: metav1.ObjectMeta{
			Name: w.Metadata.Name, UID: w.Metadata.UID, ResourceVersion: w.Metadata.ResourceVersion, Generation: w.Metadata.Generation,
		},
		Spec: w.Spec, Status: w.Status,
	}
	if text := w.Metadata.Annotations.Reinstalls; text != "" {
		d.Annotations = map[string]string{v1alpha1.AnnotationReinstalls: text}
	}
	return d
}

// pageOnWire has the fields of the JSON of one page of a list that the host reads.
type pageOnWire struct {
	Kind     string          `json:"kind"`
	Metadata metav1.ListMeta `json:"metadata"`
	Items    []onWire        `json:"items"`
}

// read decodes the answer to a list request.
func (w *pageOnWire) read(result rest.Result) error {
	body, err := member.Body(result)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, w); err != nil {
		return err
	}
	if w.Kind != "DeliveryList" {
		return fmt.Errorf("the answer to the list of Deliveries is a %s and not a DeliveryList. Does spec.endpoint lead to a Kubernetes API server?", cut(w.Kind, maxName))
	}
	return nil
}

// Decode implements watch.Decoder.
func (d *decoder) Decode() (apiwatch.EventType, runtime.Object, error) {
	var raw struct {
		Type   apiwatch.EventType `json:"type"`
		Object json.RawMessage    `json:"object"`
	}
	if err := d.events.Decode(&raw); err != nil {
		return "", nil, err
	}
	switch raw.Type {
	case apiwatch.Error:
		status := &metav1.Status{}
		if err := json.Unmarshal(raw.Object, status); err != nil {
			return "", nil, fmt.Errorf("reading the error event of the watch of Deliveries: %w", err)
		}
		return raw.Type, status, nil
	case apiwatch.Added, apiwatch.Modified, apiwatch.Deleted, apiwatch.Bookmark:
	default:
		return "", nil, fmt.Errorf("reading an event of the watch of Deliveries: the event type %q is unknown", cut(string(raw.Type), maxName))
	}
	is := onWire{}
	if err := json.Unmarshal(raw.Object, &is); err != nil {
		return "", nil, fmt.Errorf("reading an event of the watch of Deliveries: %w", err)
	}
	if is.Kind != "Delivery" {
		return "", nil, fmt.Errorf("reading an event of the watch of Deliveries: its object is a %s and not a Delivery", cut(is.Kind, maxName))
	}
	e := newDecoded(is.delivery())
	if raw.Type != apiwatch.Deleted && !d.sink.summaries.hasRoomFor(e.Name, e.summary) {
		d.sink.noteUnreadable(errTooMuch.Error())
		return apiwatch.Error, &metav1.Status{Status: metav1.StatusFailure, Message: errTooMuch.Error()}, nil
	}
	return raw.Type, e, nil
}

// Close implements watch.Decoder.
func (d *decoder) Close() { _ = d.body.Close() } // an error does not matter, because the body is not read any more
