// SPDX-License-Identifier: Apache-2.0

// Package controllers makes the manager with all its loops. Loops are the only code that connects the pure packages to
// clusters: a loop reads objects, calls a pure package, and writes the result.
//
// Four loops run on the host: federated (once for each scope of wrappers), membercluster, which keeps the registry and
// the connections to members, memberreport, which writes the evidence of members, and evidencerequest, which asks
// members for evidence when a person requests it. Each member also has a queue of pushes in the manager and, with
// `collector: Host`, a collector in the manager. multicluster-runtime starts that queue and that collector when the
// manager connects to the member, and stops both when the connection ends.
package controllers
