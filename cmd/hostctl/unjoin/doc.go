// SPDX-License-Identifier: Apache-2.0

// Package unjoin is `hostctl unjoin`: it lets a member go. It asks first; what it does is package internal/join.
package unjoin
