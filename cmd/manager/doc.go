// SPDX-License-Identifier: Apache-2.0

// Command manager is the host's controller manager.
package main
