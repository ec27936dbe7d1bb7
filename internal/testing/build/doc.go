// SPDX-License-Identifier: Apache-2.0

// Package build makes objects for tests, in one short expression each:
//
//	build.Federated("web").In("shop").To("member-1").With(build.ConfigMap("settings", "colour", "blue")).Obj()
//
// Why it is so: a builder sets only the fields that the test names, and no defaults, as an author would. Objects are
// unstructured: typed objects have empty fields that no author wrote, and server-side apply would own those fields.
package build
