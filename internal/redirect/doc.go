// SPDX-License-Identifier: Apache-2.0

// Package redirect refuses redirects from a member's API server.
//
// Why: Go's HTTP client follows redirects, client-go's transport adds the host's token to the new request, and a 307
// repeats method and body. So a member could send the host's token, and the objects that the host pushes, to any
// address that the host can reach. The member could also learn the response of that address from the host's error
// message. No real API server redirects its clients.
package redirect
