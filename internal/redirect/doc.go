// SPDX-License-Identifier: Apache-2.0

// Package redirect refuses redirects of a member's API server.
//
// Why it is so: Go's client follows redirects. Client-go's transport then adds the token again, and a 307 repeats
// method and body. So a member could redirect the host's credentials, and the objects that the host pushes, to any
// address that the host reaches. The host's error message would also show the member that address's answer. No API
// server redirects its clients.
package redirect
