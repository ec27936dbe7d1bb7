// SPDX-License-Identifier: Apache-2.0

package redirect

import (
	"fmt"
	"net/http"
)

// Error says that a redirect was not followed.
type Error struct {
	// Method is that of the request, Status that of the answer.
	Method string
	Status int
	// To is where it leads, as the answer says it: untrusted text.
	To string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s is answered with a redirect (%d) to %.80q, which is not followed: an API server does not redirect; "+
		"a login page, a proxy or a load balancer may answer in its place: give the address of the API server itself", e.Method, e.Status, e.To)
}

// Refused is the error of an answer that redirects, whose body it then closes; nil for all other answers.
func Refused(resp *http.Response) error {
	if resp.StatusCode < http.StatusMultipleChoices || resp.StatusCode >= http.StatusBadRequest || resp.StatusCode == http.StatusNotModified {
		return nil
	}
	_ = resp.Body.Close() // nothing of it is read
	return &Error{Method: resp.Request.Method, Status: resp.StatusCode, To: resp.Header.Get("Location")}
}

// Refuse is a transport whose answers do not redirect: in their place comes an *Error. It has the form of a
// transport.WrapperFunc.
func Refuse(next http.RoundTripper) http.RoundTripper { return refusing{next} }

type refusing struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := r.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := Refused(resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// WrappedRoundTripper lets client-go find the transport below.
func (r refusing) WrappedRoundTripper() http.RoundTripper { return r.next }
