// SPDX-License-Identifier: Apache-2.0

// Package filelock locks a file for one process at a time. It has two uses. Only one process at a time builds the
// control planes of sandboxes, changes a sandbox or supervises it. And each manager can hold a lock as long as it
// lives: a manager that gets this lock knows that its predecessor is dead.
//
// The kernel releases a lock when its process ends, so a crash leaves no lock behind. The package never removes a lock
// file. If it did, one process could hold the lock on the removed file, and another the lock on a new file of the same
// name.
package filelock
