// SPDX-License-Identifier: Apache-2.0

package redirect

import (
	"fmt"
	"net/http"
)

// Error is the error for a redirect, which Fairlead does not follow.
type Error struct {
	// Method is the method of the request. Status is the status of the answer.
	Method string
	Status int
	// To is the target of the redirect, as the answer names it: untrusted text.
	To string
}

func (e *Error) Error() string {
	return fmt.Sprintf("the answer to a %s is a redirect (%d) to %.80q, and Fairlead does not follow it. An API server does not redirect: "+
		"a login page, a proxy or a load balancer may answer in its place. Give the address of the API server itself", e.Method, e.Status, e.To)
}

// Refused returns an *Error for a redirect and closes the body of the response. For other responses, 304 too, it
// returns nil.
func Refused(resp *http.Response) error {
	if resp.StatusCode < http.StatusMultipleChoices || resp.StatusCode >= http.StatusBadRequest || resp.StatusCode == http.StatusNotModified {
		return nil
	}
	_ = resp.Body.Close() // the body is not read
	return &Error{Method: resp.Request.Method, Status: resp.StatusCode, To: resp.Header.Get("Location")}
}

// Refuse is a transport that returns an *Error instead of a redirect. It has the form of a transport.WrapperFunc.
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
