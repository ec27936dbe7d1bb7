// SPDX-License-Identifier: Apache-2.0

// Package connect gives the commands of hostctl a client for the host that their flags select. The flags are kubectl's. The client of
// function Host knows Fairlead's kinds; function HostWith also takes other kinds. IsTransient and Pause are for a command that asks the
// host again, for example while the host restarts.
package connect
