// SPDX-License-Identifier: Apache-2.0

// Package wrapperevents decides which events a wrapper gets, from the status before and after a change. An event is a
// value until Record records it.
package wrapperevents
