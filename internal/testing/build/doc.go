// SPDX-License-Identifier: Apache-2.0

// Package build makes objects for tests, each in one short expression:
//
//	build.Federated("web").In("shop").To("member-1").With(build.ConfigMap("settings", "colour", "blue")).Obj()
//
// A builder sets only the fields that the test names, and no defaults, because authors do the same. Objects are
// unstructured: typed objects have empty fields that no author wrote, and server-side apply would make Fairlead the
// owner of those fields.
package build
