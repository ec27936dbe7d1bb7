// SPDX-License-Identifier: Apache-2.0

// Command hostctl is the command line of Fairlead. See `hostctl --help`.
package main
