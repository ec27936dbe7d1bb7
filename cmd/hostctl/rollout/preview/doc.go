// SPDX-License-Identifier: Apache-2.0

// Package preview tells what the manager would do with a wrapper: which members are in which wave, and what changes on each. It calls the
// manager's own functions, so that the preview and the manager agree. It reads approvals and revisions from the host, and writes nothing.
package preview
