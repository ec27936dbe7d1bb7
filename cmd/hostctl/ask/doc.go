// SPDX-License-Identifier: Apache-2.0

// Package ask asks the user a question before a command of hostctl does something that cannot be undone. For any other
// answer than the wanted one, it returns an error which says that nothing was done.
package ask
