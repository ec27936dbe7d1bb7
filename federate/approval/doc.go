// SPDX-License-Identifier: Apache-2.0

// Package approval builds the Approval of a wrapper, as hostctl writes it and as tests expect it.
package approval
