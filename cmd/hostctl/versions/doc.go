// SPDX-License-Identifier: Apache-2.0

// Package versions is `hostctl version`: it shows the versions of hostctl, the host and its members, and warns where they are too far
// apart. Package internal/install reads and compares them.
package versions
