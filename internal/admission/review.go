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
	// maxReview is the largest size of a review (an AdmissionReview) in bytes. An API server accepts an object of 3 MiB,
	// and the review of an update has two objects.
	maxReview = 7 << 20
	// maxReviewDepth bounds the nesting of a review. Go's decoder stops at 10,000, possibly before it has read the
	// request's uid. The webhook could then not answer, and the author would not learn that the nesting is the fault. If
	// the depth of a wrapper is between strictjson.MaxDepth and this bound, validation names the field that is too deep.
	maxReviewDepth = 9000
	// maxReviews is the number of reviews that the manager reads and answers at the same time. Any pod of the host
	// can send reviews, and a review takes about three times its size in memory. Without this bound the manager could
	// run out of memory.
	maxReviews = 8
	// readTime limits how long the client may take to send one review, and how long it may take to read the answer. The
	// API server needs milliseconds for each of the two.
	readTime = 3 * time.Second
	// maxUID bounds the uid of a review, which the answer repeats. The API server's uids have 36 bytes.
	maxUID = 128
)

// limit bounds how many reviews all webhooks together read and answer at the same time.
type limit struct {
	slots chan struct{}
	// readTime is the constant readTime, or a shorter time in tests.
	readTime time.Duration
}

func newLimit() *limit { return &limit{slots: make(chan struct{}, maxReviews), readTime: readTime} }

// acquire waits for a slot. The caller frees the slot with release. ok is false if the client ends the request before a
// slot is free. The API server ends a request after the timeoutSeconds of the webhook configuration.
func (l *limit) acquire(ctx context.Context) (release func(), ok bool) {
	select {
	case l.slots <- struct{}{}:
		return func() { <-l.slots }, true
	case <-ctx.Done():
		return nil, false
	}
}

// answering returns a handler that passes the API server's reviews to the function answer. If a review is nested too deeply
// to decode, the handler refuses it without calling the function.
//
// The reviewed objects stay undecoded JSON until a check needs them, and each check decodes only the fields that it reads.
// The webhook handler of controller-runtime decodes the whole objects, and needs 50% more memory for an update (see
// BenchmarkAnUpdateIsValidated).
func answering(reviews *limit, answer func(context.Context, *question) *admissionv1.AdmissionResponse) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		connection := http.NewResponseController(w)
		response, refusal := reviews.answer(w, req, connection, answer)
		// The slot is free again here. A client that does not read the response occupies only its connection, for readTime
		// at most.
		_ = connection.SetWriteDeadline(time.Now().Add(reviews.readTime))
		switch {
		case refusal != nil:
			http.Error(w, refusal.text, refusal.code)
		case response != nil:
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(admissionv1.AdmissionReview{ // an error means that the client has gone
				TypeMeta: metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "AdmissionReview"}, Response: response,
			})
		}
	})
}

// refusal is the HTTP error for a request whose body is not a usable review.
type refusal struct {
	code int
	text string
}

// answer reads one review and answers it. It occupies a slot until it returns. If the client ends the request before a
// slot is free, both results are nil.
func (l *limit) answer(
	w http.ResponseWriter, req *http.Request, connection *http.ResponseController, answer func(context.Context, *question) *admissionv1.AdmissionResponse,
) (*admissionv1.AdmissionResponse, *refusal) {
	release, ok := l.acquire(req.Context())
	if !ok {
		return nil, nil
	}
	defer release()
	// A client that sends its review slowly must not occupy the slot for long. The error is ignored, because in tests the
	// connection may not support deadlines.
	_ = connection.SetReadDeadline(time.Now().Add(l.readTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxReview))
	_ = connection.SetReadDeadline(time.Time{}) // an expired read deadline would cancel the request while it is being answered
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
			return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("the body is not an AdmissionReview with the field request (%v)", err)}
		}
		response = answer(req.Context(), asked.Request)
		response.UID = asked.Request.UID
	}
	if len(response.UID) > maxUID {
		return nil, &refusal{http.StatusBadRequest, fmt.Sprintf("request.uid is longer than %d bytes", maxUID)}
	}
	return response, nil
}

// tooDeep returns the answer to a review that is nested too deeply, or nil for any other review.
func tooDeep(body []byte) *admissionv1.AdmissionResponse {
	if strictjson.Depth(body) <= maxReviewDepth {
		return nil
	}
	return &admissionv1.AdmissionResponse{UID: reviewUID(body), Result: &metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusUnprocessableEntity, Reason: metav1.StatusReasonInvalid,
		Message: fmt.Sprintf("the wrapper is nested more than %d deep; an object, the value of a patch and a merge may be nested at most %d deep",
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
	UserInfo  userInfo                `json:"userInfo"`
}

// userInfo is the user of the request: the authenticated user, or the user whom that user impersonates.
type userInfo struct {
	Username string `json:"username"`
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

// old returns the object as it was before an update. It returns nil for other operations, and if it cannot decode the
// object.
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

// reviewUID returns request.uid of a review, or "" if the review has none. It reads token by token, so it also works for a
// review that is nested too deeply to decode.
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

// enter reads from the beginning of the next JSON object up to the value of a field. It returns false if the object lacks
// the field.
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

// skip reads one JSON value and drops it. It returns false if the JSON ends or is invalid.
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
