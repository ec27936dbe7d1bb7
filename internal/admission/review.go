// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/fairlead-dev/fairlead/apis/v1alpha1"
	"github.com/fairlead-dev/fairlead/overrides/strictjson"
)

const (
	// maxReview bounds the bytes of a review. An API server accepts an object of 3 MiB, and a review has two objects.
	maxReview = 7 << 20
	// maxReviewDepth bounds the nesting of a review. Go's decoder stops at 10,000, before it has read the request's
	// uid. The author would then see an invalid answer and no mention of the deep object. Validate refuses a wrapper
	// between its own limit and this one, and names the field.
	maxReviewDepth = 9000
	// maxReviews is the number of reviews that the manager reads and answers at the same time. Any pod of the host can
	// send one. Each takes memory of about three times its bytes.
	maxReviews = 8
	// readTime bounds how long one review may take to arrive, and how long its answer may take to be read. The API server
	// needs milliseconds for either.
	readTime = 3 * time.Second
	// maxUID bounds the uid of a review, which the answer repeats. The API server's uids have 36 bytes.
	maxUID = 128
)

// limit bounds how many reviews are read and answered at the same time, for all webhooks together.
type limit struct {
	slots chan struct{}
	// readTime is the constant, or shorter in tests.
	readTime time.Duration
}

func newLimit() *limit { return &limit{slots: make(chan struct{}, maxReviews), readTime: readTime} }

// acquire waits for a slot until the client gives up. The API server does so after its timeoutSeconds.
func (l *limit) acquire(ctx context.Context) (release func(), ok bool) {
	select {
	case l.slots <- struct{}{}:
		return func() { <-l.slots }, true
	case <-ctx.Done():
		return nil, false
	}
}

// answering returns a handler that passes the API server's reviews to answer. It refuses a review itself if its nesting
// is too deep to decode. Objects stay text until a check needs them; the check decodes only the fields that it reads.
// With controller-runtime's decoder an update took half as much memory again (see BenchmarkAnUpdateIsValidated).
func answering(reviews *limit, answer func(context.Context, *question) *admissionv1.AdmissionResponse) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		connection := http.NewResponseController(w)
		response, refusal := reviews.answer(w, req, connection, answer)
		// A client that does not read its answer holds no slot, and keeps its connection for readTime at most.
		_ = connection.SetWriteDeadline(time.Now().Add(reviews.readTime))
		switch {
		case refusal != nil:
			http.Error(w, refusal.text, refusal.code)
		case response != nil:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{ // a client that does not read the answer gets none
				TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}, Response: response,
			})
		}
	})
}

// refusal is the answer to a request that is no review.
type refusal struct {
	code int
	text string
}

// answer reads one review and answers it. It holds a slot meanwhile. Both results are nil if the client has gone.
func (l *limit) answer(
	w http.ResponseWriter, req *http.Request, connection *http.ResponseController, answer func(context.Context, *question) *admissionv1.AdmissionResponse,
) (*admissionv1.AdmissionResponse, *refusal) {
	release, ok := l.acquire(req.Context())
	if !ok {
		return nil, nil
	}
	defer release()
	// A client that sends its review slowly must not hold the slot. A test's server without deadlines ignores this.
	_ = connection.SetReadDeadline(time.Now().Add(l.readTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxReview))
	_ = connection.SetReadDeadline(time.Time{}) // or the server would take the connection for lost while it answers
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("the review is larger than %d MiB", maxReview>>20)}
	}
	if err != nil {
		return nil, &refusal{http.StatusBadRequest, "reading the review: " + err.Error()}
	}
	response := tooDeep(body)
	if response == nil {
		asked := review{}
		if err := kjson.Unmarshal(body, &asked); err != nil || asked.Request == nil {
			return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("the body is no AdmissionReview with a request (%v)", err)}
		}
		response = answer(req.Context(), asked.Request)
		response.UID = asked.Request.UID
	}
	if len(response.UID) > maxUID {
		return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("request.uid is longer than %d bytes", maxUID)}
	}
	return response, nil
}

// tooDeep returns the answer to a review that is nested too deeply, nil for any other.
func tooDeep(body []byte) *admissionv1.AdmissionResponse {
	if strictjson.Depth(body) <= maxReviewDepth {
		return nil
	}
	return &admissionv1.AdmissionResponse{UID: reviewUID(body), Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("the wrapper is nested more than %d deep; an object, the value of a patch and a merge may be %d deep",
			maxReviewDepth, strictjson.MaxDepth),
	}}
}

// review is an AdmissionReview as the API server sends it.
type review struct {
	Request *question `json:"request"`
}

// question is the part of the request that the webhooks read.
type question struct {
	UID       types.UID               `json:"uid"`
	Kind      metav1.GroupVersionKind `json:"kind"`
	Operation admissionv1.Operation   `json:"operation"`
	Namespace string                  `json:"namespace"`
	Object    json.RawMessage         `json:"object"`
	OldObject json.RawMessage         `json:"oldObject"`
}

// wrapperKind returns the kind of the reviewed object. It is an error if the object is no wrapper.
func (q *question) wrapperKind() (v1alpha1.WrapperKind, error) {
	switch kind := v1alpha1.WrapperKind(q.Kind.Kind); kind {
	case v1alpha1.KindFederated, v1alpha1.KindClusterFederated:
		return kind, nil
	default:
		return "", fmt.Errorf("this webhook does not serve kind %q", q.Kind.Kind)
	}
}

// old returns the object before the change; nil if there is none, or if it cannot be read.
func (q *question) old() *judged {
	if q.Operation != admissionv1.Update {
		return nil
	}
	old, err := read(q.OldObject)
	if err != nil {
		return nil
	}
	return old
}

// reviewUID finds request.uid token by token, whatever the nesting; "" when there is none.
func reviewUID(body []byte) types.UID {
	decoder := json.NewDecoder(bytes.NewReader(body))
	for _, key := range []string{"request", "uid"} {
		if !enter(decoder, key) {
			return ""
		}
	}
	token, _ := decoder.Token()
	uid, _ := token.(string)
	return types.UID(uid)
}

// enter reads the next object up to the value of a field, and reports whether the object has that field.
func enter(decoder *json.Decoder, field string) bool {
	if begin, err := decoder.Token(); err != nil || begin != json.Delim('{') {
		return false
	}
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return false
		}
		if key == field {
			return true
		}
		if !skip(decoder) {
			return false
		}
	}
	return false
}

// skip reads one value and drops it.
func skip(decoder *json.Decoder) bool {
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			return false
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return true
		}
	}
}
