// SPDX-License-Identifier: Apache-2.0

// Package connect gives hostctl's commands a client for the host. It takes kubectl's flags. The client knows Fairlead's kinds;
// HostWith makes one that knows other kinds as well.
package connect
