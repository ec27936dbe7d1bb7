// SPDX-License-Identifier: Apache-2.0

// Package build makes objects for tests, in one short expression each:
//
//	build.Federated("web").In("shop").To("member-1").With(build.ConfigMap("settings", "colour", "blue")).Obj()
//
// Why it is so: a builder sets only the fields that the test names and no defaults, so that the wrapper is one that an author could have
// written. Objects are unstructured: typed ones have empty fields that no author wrote, and server-side apply would own them.
package build
