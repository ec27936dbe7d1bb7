// SPDX-License-Identifier: Apache-2.0

// Package kubefed builds KubeFed, installs it on clusters and writes its objects, so that the benchmark can measure KubeFed in the same
// run as Fairlead. The measurements themselves are in package bench.
//
// Words: a *release* is KubeFed's controller manager, built from its Go module, and the files of that module. A *federated object* is
// KubeFed's counterpart of a wrapper: it has a template of an object, and a placement.
//
// The package reads the CRDs and type configurations from the module from which it also builds the program, so they always
// fit the program. It does not use `kubefedctl join`: that command waits for a token that Kubernetes does not create for service
// accounts since version 1.24. Function Join does the same steps, but requests the token.
package kubefed
