// SPDX-License-Identifier: Apache-2.0

// Package encode prints values as JSON or YAML, for the flag --output of hostctl's commands.
package encode
