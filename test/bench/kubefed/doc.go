// SPDX-License-Identifier: Apache-2.0

// Package kubefed builds KubeFed, installs it on clusters and writes its objects, so that the benchmark can measure it beside Fairlead.
// It holds no measurement.
//
// Words: a *release* is KubeFed's controller manager, built from its Go module, and the files of that module. A *federated object* is
// KubeFed's counterpart of a wrapper: a template, and a placement.
//
// Why it is so: CRDs and type configurations are read from the module that the program is built from, so they cannot differ from it.
// `kubefedctl join` is not used: it waits for a token that Kubernetes has not made for an account since 1.24. Join does the same steps
// with a requested token.
package kubefed
