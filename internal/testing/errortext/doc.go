// SPDX-License-Identifier: Apache-2.0

// Package errortext compares an error with the text that a test expects.
package errortext
