// SPDX-License-Identifier: Apache-2.0

// Package controllers is the one list of Fairlead's loops, and the only place that joins the pure
// rooms to the wire: read, call a pure package, write its result.
//
// Two loops run on the host: federated, one for both scopes of wrappers, and membercluster, which
// keeps the registry and the connections. What runs for each member (its queue of pushes, its collector
// where the host collects for it) is engaged through multicluster-runtime with that member's
// connection and ends with it.
package controllers
