// SPDX-License-Identifier: Apache-2.0

// Package filelock locks a file. With a lock, only one process at a time builds the control planes, changes a sandbox
// or supervises it. A manager uses a lock to prove that its predecessor is dead.
//
// The kernel releases a lock when its process ends, so a crash leaves no lock behind. The lock files stay. If one were
// removed, two processes could each lock a file of that name: the old inode and a new one.
package filelock
