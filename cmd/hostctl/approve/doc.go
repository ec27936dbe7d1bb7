// SPDX-License-Identifier: Apache-2.0

// Package approve is `hostctl approve`. It shows what an action will do that the manager takes only with a person's consent. Then it
// writes that consent as an Approval.
package approve
