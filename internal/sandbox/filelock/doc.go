// SPDX-License-Identifier: Apache-2.0

// Package filelock keeps two processes from doing the same thing at once: one builds the control planes, one
// changes a sandbox, one supervises it. The kernel drops a lock with the process that held it, so a crash never
// leaves one behind; lock files themselves stay, since removing one would let two holders in through two inodes.
package filelock
