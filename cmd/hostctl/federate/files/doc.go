// SPDX-License-Identifier: Apache-2.0

// Package files reads the files, the folders and the standard input that -f names, up to a limit in bytes. Several commands share it.
package files
