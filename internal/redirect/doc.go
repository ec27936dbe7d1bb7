// SPDX-License-Identifier: Apache-2.0

// Package redirect refuses redirects of a member's API server.
//
// Why it is so: Go's client follows them, client-go's transport then adds the token anew, and a 307 has method and body sent
// again. So a member could have the host's credentials, and the objects it pushes, sent to any address that the host reaches,
// and read in a message what answers there. No API server redirects its clients.
package redirect
