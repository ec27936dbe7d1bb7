// SPDX-License-Identifier: Apache-2.0

// Package build makes the objects that tests stand on, in as few words as a spec has for them:
//
//	build.Federated("web").In("shop").To("member-1").With(build.ConfigMap("settings", "colour", "blue")).Obj()
//
// Why it is so: what a builder does not say is what an author left out, never a default of the test's own, so that a spec
// reads as the wrapper that a person would have written. Objects are unstructured: a typed one would bring along empty
// fields that no author wrote, and server-side apply would own them.
package build
