// SPDX-License-Identifier: Apache-2.0

// Package connect is how hostctl's commands reach the host cluster: by the flags of kubectl, and with a client that knows
// Fairlead's kinds and, but for HostWith, no others.
package connect
