// SPDX-License-Identifier: Apache-2.0

// Package ask has hostctl's commands ask before they do something that cannot be undone. Any answer but a clear yes counts as no;
// the command then says that nothing was done.
package ask
