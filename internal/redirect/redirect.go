// SPDX-License-Identifier: Apache-2.0

package redirect

import (
	"fmt"
	"net/http"
)

// Error is the error for a redirect, which Fairlead does not follow.
type Error struct {
	// Method is the HTTP method of the request, and Status the HTTP status code of the response.
	Method string
	Status int
	// To is the header Location of the response. It is text of the member, and not trusted.
	To string
}

func (e *Error) Error() string {
	return fmt.Sprintf("the answer to a %s is a redirect (%d) to %.80q, and Fairlead does not follow it. An API server does not redirect: "+
		"a login page, a proxy or a load balancer may answer in its place. Give the address of the API server itself", e.Method, e.Status, e.To)
}

// Refused returns an *Error if the response is a redirect, and closes its body. For every other response it returns
// nil, also for a 304 (Not Modified).
func Refused(resp *http.Response) error {
	if resp.StatusCode < http.StatusMultipleChoices || resp.StatusCode >= http.StatusBadRequest || resp.StatusCode == http.StatusNotModified {
		return nil
	}
	_ = resp.Body.Close() // an error does not matter, because the body is not read
	return &Error{Method: resp.Request.Method, Status: resp.StatusCode, To: resp.Header.Get("Location")}
}

// Refuse returns a transport that returns an *Error in place of a redirect. It has the signature of
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

// WrappedRoundTripper returns the transport below, so that client-go finds it.
func (r refusing) WrappedRoundTripper() http.RoundTripper { return r.next }
