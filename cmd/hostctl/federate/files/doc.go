// SPDX-License-Identifier: Apache-2.0

// Package files reads what the flag -f names: files, folders and standard input, up to a limit in bytes. Several commands use it.
package files
