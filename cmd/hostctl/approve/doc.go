// SPDX-License-Identifier: Apache-2.0

// Package approve is `hostctl approve`: it writes an Approval, one person's word that something may happen to
// one wrapper which Fairlead does not do by itself. It says first what that does.
package approve
