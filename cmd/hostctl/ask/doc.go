// SPDX-License-Identifier: Apache-2.0

// Package ask is how hostctl's commands ask before they do what cannot be taken back. Anything but a clear
// yes is no, and says that nothing was done.
package ask
