// SPDX-License-Identifier: Apache-2.0

// Package federate is `hostctl federate`: plain manifests in, wrappers out. It reads files and flags and
// prints; what it does is package federate/author.
package federate
