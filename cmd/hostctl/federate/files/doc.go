// SPDX-License-Identifier: Apache-2.0

// Package files reads what -f names: files, folders and stdin, bounded.
package files
