// SPDX-License-Identifier: Apache-2.0

// Package approve is `hostctl approve`. The manager takes some actions only with a person's consent. The command shows what such an
// action will do, and then writes the consent as an Approval.
package approve
