// SPDX-License-Identifier: Apache-2.0

// Package approve is `hostctl approve`. It writes an Approval: a person's consent to something that Fairlead does not do to a
// wrapper by itself. Before that it shows what the Approval will do.
package approve
