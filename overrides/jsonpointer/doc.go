// SPDX-License-Identifier: Apache-2.0

// Package jsonpointer reads JSON pointers (RFC 6901) and follows them in decoded JSON.
package jsonpointer
